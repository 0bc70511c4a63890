// Tests text: which foreign characters are shown, which name a misspelt one stands for, and numbers in every locale.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/text.h"
#include "judge/scratch_folder.h"

namespace {

using openaclnn::did_you_mean;
using openaclnn::nearest_word;
using openaclnn::number_text;
using openaclnn::printable;

TEST(PrintableTest, ShowsTextAsItIs) {
  for (const char* text : {"", "plain text.npy", "Größe 3 µs ≤ 日本 🙂", "a\\b'c\"d"})
    EXPECT_EQ(printable(text), text);
}

TEST(PrintableTest, ReplacesWhatATerminalObeys) {
  EXPECT_EQ(printable("a\033[31mb\n\r\t\x07\x7F"), "a?[31mb?????");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("a\u009B31mb\u0085"), "a?31mb?");  // C1
  EXPECT_EQ(printable("a\u202Egpj.npy \u2028\u200F\u2066\u061C"), "a?gpj.npy ????");
}

TEST(PrintableTest, InPlaceEachByteOfACharacterIsReplaced) {
  std::string text = "é\033[31m\n\u009B\u202E\x9B\xE2\x80";
  openaclnn::make_printable(text);
  EXPECT_EQ(text, "é?[31m?????????");
  openaclnn::make_printable({});
}

TEST(PrintableTest, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("\x9B"
                      "31m \xFF \xC3"),
            "?31m ? ?");
  EXPECT_EQ(printable("\xC0\x8A \xED\xA0\x80 \xF4\x90\x80\x80"),
            "?? ??? ????");  // too long, half a pair, beyond the last
  EXPECT_EQ(printable("\xE2\x80"), "??");
}

std::string nearest(std::string_view word) {
  static const std::vector<std::string_view> kNames = {
      "doctor", "run", "trace", "Embedding", "EmbeddingDenseBackward", "NUM_THREADS", "--weight-decay", "-I"};
  return std::string(nearest_word(word, kNames));
}

TEST(NearestTest, FindsMisspeltWords) {
  EXPECT_EQ(nearest("docter"), "doctor");
  EXPECT_EQ(nearest("rnu"), "run");  // swapped
  EXPECT_EQ(nearest("trcae"), "trace");
  EXPECT_EQ(nearest("embeding"), "Embedding");
  EXPECT_EQ(nearest("EmbeddingDenseBackwards"), "EmbeddingDenseBackward");
  EXPECT_EQ(nearest("num_thread"), "NUM_THREADS");
  EXPECT_EQ(nearest("--weight_decay"), "--weight-decay");
  EXPECT_EQ(nearest("embedded"), "Embedding");  // another form of the word
}

TEST(NearestTest, FindsPartsOfNames) {
  EXPECT_EQ(nearest("THREADS"), "NUM_THREADS");
  EXPECT_EQ(nearest("backward"), "EmbeddingDenseBackward");
}

TEST(NearestTest, FindsNothingWhereNothingIsNear) {
  for (const char* word : {"", "x", "ab", "nonsense", "TEST_SEED", "-x"})
    EXPECT_EQ(nearest(word), "") << word;
  EXPECT_EQ(nearest(std::string(100000, 'd')), "");
}

TEST(NearestTest, Sentence) {
  const std::vector<std::string_view> names = {"doctor"};
  EXPECT_EQ(did_you_mean("docter", names), "; did you mean 'doctor'?");
  EXPECT_EQ(did_you_mean("nonsense", names), "");
}

std::string printed(const char* format, int digits, double number) {
  char text[400];
  std::snprintf(text, sizeof text, format, digits, number);
  return text;
}

TEST(NumberTextTest, EqualsPrintf) {
  using Limits = std::numeric_limits<double>;
  for (const double number : {0.0, -0.0, 1.0, 0.1, -2.5, 1e-7, 123456789.0, 1e22, 3e-320, Limits::max(),
                              Limits::denorm_min(), 1.0 / 3, 1e16}) {
    for (const int digits : {1, 6, 9, 17}) {
      EXPECT_EQ(number_text(number, digits), printed("%.*g", digits, number));
      EXPECT_EQ(number_text(number, digits, std::chars_format::fixed), printed("%.*f", digits, number));
    }
  }
  EXPECT_EQ(openaclnn::text("a share of ", 0.25), "a share of 0.25");
}

// Many programs call setlocale(LC_ALL, ""). In Germany, printf then writes 1,5.
TEST(NumberTextTest, HasAPointInEveryLocale) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string compile = "localedef -c -i de_DE -f UTF-8 " + scratch.path("de_DE.UTF-8") + " 2>&1";
  if (std::system(compile.c_str()) != 0) GTEST_SKIP() << "localedef has no de_DE (Debian package locales)";
  setenv("LOCPATH", scratch.path("").c_str(), 1);
  ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
  EXPECT_EQ(printed("%.*g", 3, 1.5), "1,5") << "the locale has no effect";
  openaclnn::Json json;
  json.open('[').value(1.5).python_float(2.5).close(']');
  const std::string text = json.text() + openaclnn::text(" ", 0.5);
  std::setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  EXPECT_EQ(text, "[1.5,2.5] 0.5");
}

}  // namespace
