// A program without tests, for the headers that all tests share (tests/CMakeLists.txt).
int main() { return 0; }
