/* Reads openaclnn's conformance vectors and verifies all checksums. Needs only a C99 compiler.
 * usage: read_vectors [FOLDER]. To test a kernel, replace visit(). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 256, MOST_DIMS = 8 };

typedef struct {
  const char* kind;  /* "input", "result", "exact" or "bound" */
  const char* name;  /* those of lists are "grads[0]", "grads[1]", ... */
  const char* dtype; /* "FLOAT", "BF16", ...; exact and bound are "DOUBLE" */
  int rank;
  long long dims[MOST_DIMS];
  const unsigned char* data; /* row-major, little-endian */
  size_t bytes;
} Tensor;

typedef struct {
  const char *operator_name, *name;
  const char* attributes[MOST_ITEMS]; /* "integer numWeights 7",
    "real lr 0x1p-10", "array actSeqLenOptional 2 3 9": 2 values, 3 and 9 */
  Tensor tensors[MOST_ITEMS];
  int attribute_count, tensor_count;
} Case;

static void visit(const Case* c) { (void)c; }

static void fail(const char* what, const char* name) {
  fprintf(stderr, "read_vectors: %s%s\n", what, name);
  exit(1);
}

static uint32_t crc32_of(const unsigned char* bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320u : 0);
  }
  return ~crc;
}

/* Returns the contents with a 0 behind them. */
static unsigned char* load(const char* folder, const char* name, size_t* size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  if (file == NULL) fail("cannot open ", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char* bytes = calloc(*size + 1, 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) fail("cannot read ", path);
  fclose(file);
  return bytes;
}

/* The words of a line: kind, name, dtype, offset, bytes, checksum, rank, dims. */
static Tensor tensor_of(char* line, const unsigned char* data, size_t size) {
  char* words[7 + MOST_DIMS] = {0};
  int count = 0;
  for (char* word = strtok(line, " "); word != NULL && count < 7 + MOST_DIMS; word = strtok(NULL, " "))
    words[count++] = word;
  if (count < 7) fail("bad tensor ", line);
  Tensor t = {words[0], words[1], words[2], count - 7, {0}, NULL, strtoull(words[4], NULL, 10)};
  const size_t offset = strtoull(words[3], NULL, 10);
  if (offset > size || t.bytes > size - offset) fail("bad tensor ", t.name);
  for (int k = 0; k < t.rank; ++k) t.dims[k] = atoll(words[7 + k]);
  t.data = data + offset;
  if (crc32_of(t.data, t.bytes) != strtoul(words[5], NULL, 16)) fail("data.bin is damaged: ", t.name);
  return t;
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : ".";
  size_t index_size, data_size;
  char* index = (char*)load(folder, "index.txt", &index_size);
  const unsigned char* data = load(folder, "data.bin", &data_size);
  char* end = strstr(index, "\nend ");
  long long cases, bytes, seen = 0;
  unsigned crc;
  if (strncmp(index, "openaclnn-vectors 1\n", 20) != 0 || end == NULL ||
      sscanf(end + 1, "end %lld %lld %x", &cases, &bytes, &crc) != 3 || bytes != (long long)data_size ||
      crc32_of((unsigned char*)index, (size_t)(end + 1 - index)) != crc)
    fail("index.txt is damaged", "");
  static Case c;
  for (char *line = index + 20, *next; line <= end; line = next) {
    next = strchr(line, '\n') + 1;
    next[-1] = 0;
    if (strncmp(line, "case ", 5) == 0) {
      if (seen++ > 0) visit(&c);
      c = (Case){.operator_name = line + 5};
    } else if (strncmp(line, "name ", 5) == 0) {
      c.name = line + 5;
    } else if (c.attribute_count == MOST_ITEMS || c.tensor_count == MOST_ITEMS) {
      fail("too many arguments: ", c.name);
    } else if (strncmp(line, "integer ", 8) == 0 || strncmp(line, "real ", 5) == 0 ||
               strncmp(line, "array ", 6) == 0) {
      c.attributes[c.attribute_count++] = line;
    } else {
      c.tensors[c.tensor_count++] = tensor_of(line, data, data_size);
    }
  }
  visit(&c);
  if (seen != cases) fail("index.txt is damaged", "");
  printf("%lld cases: all checksums are right\n", seen);
  return 0;
}
