#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/trace_samples.hpp"
#include "workloads/length_table.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::trace_errors_test {

using trace_samples::gzip;
namespace {

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string kGoodRow = "2024-05-12 08:00:00,1,1\n";

// The message, without the path of the file in front.
template <typename Read>
std::string error_of(const std::string& path, Read read) {
  try {
    read();
  } catch (const DataError& error) {
    const std::string message = error.what();
    return message.starts_with(path) ? message.substr(path.size()) : "no path: " + message;
  }
  return "no error";
}

std::string trace_error(const std::string& content, ZeroTokens zero_tokens = ZeroTokens::drop) {
  const TempFile file(content);
  return error_of(file.path(), [&] {
    static_cast<void>(read_trace(file.path(), {.zero_tokens = zero_tokens}));
  });
}

std::string table_error(const std::string& content) {
  const TempFile file(content);
  return error_of(file.path(), [&] { static_cast<void>(read_length_table(file.path())); });
}

}  // namespace

TEST_CASE("a malformed row is refused with its line, its value and the rows before it",
          "[workloads]") {
  CHECK(trace_error(kHeader + kGoodRow + "12.05.2024 08:00,1,1\n") ==
        ":3: TIMESTAMP is '12.05.2024 08:00', expected YYYY-MM-DD hh:mm:ss[.fraction][Z or +hh:mm],"
        " 1970 to 2254 (1 rows read)");
  CHECK(trace_error(kHeader + "\n" + kGoodRow + kGoodRow + "2024-05-12 08:00:00,-1,1\n") ==
        ":5: ContextTokens is '-1', expected an integer in 0 .. 2147483647 (2 rows read)");
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,1,2147483648\n") ==
        ":2: GeneratedTokens is '2147483648', expected an integer in 0 .. 2147483647"
        " (0 rows read)");
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,1,1e3\r\n") ==
        ":2: GeneratedTokens is '1e3', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,1\n") ==
        ":2: row is '2024-05-12 08:00:00,1', expected 3 comma-separated fields (0 rows read)");
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,1,1,\n") ==
        ":2: row is '2024-05-12 08:00:00,1,1,', expected 3 comma-separated fields (0 rows read)");
  CHECK(trace_error("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                    "2024-05-12 08:00:00,x,1,1\n") ==
        ":2: NumImages is 'x', expected an integer in 0 .. 2147483647 (0 rows read)");
}

TEST_CASE("the largest count of tokens is accepted", "[workloads]") {
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,2147483647,1\n") == "no error");
}

TEST_CASE("zero tokens are an error where the policy says so", "[workloads]") {
  CHECK(trace_error(kHeader + kGoodRow + "2024-05-12 08:00:00,5,0\n", ZeroTokens::error) ==
        ":3: 5 prompt tokens, 0 output tokens; zero tokens are not allowed (1 rows read)");
}

TEST_CASE("a trace without requests is refused", "[workloads]") {
  CHECK(trace_error("") == ": is empty");
  CHECK(trace_error("\n\r\n") == ": is empty");
  CHECK(trace_error("\xEF\xBB\xBF\n") == ": is empty");
  CHECK(trace_error(gzip("")) == ": is empty");
  CHECK(trace_error(kHeader) ==
        ": no request left (0 rows read, 0 dropped for zero tokens, 0 outside the window)");
  CHECK(trace_error(kHeader + "2024-05-12 08:00:00,5,0\n") ==
        ": no request left (1 rows read, 1 dropped for zero tokens, 0 outside the window)");
}

TEST_CASE("a file that is no trace is named for what it is", "[workloads]") {
  CHECK(trace_error("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n") ==
        ": is a git-lfs pointer, not the trace: run git lfs pull");
  const std::string unknown = trace_error("\na,b\tc\n1,2\n");
  CHECK(
      unknown.starts_with(":2: unknown trace format; it begins with 'a,b?c'. Known formats: "
                          "azure: TIMESTAMP,ContextTokens,GeneratedTokens; "));
  for (const TraceFormat& format : trace_formats()) {
    CHECK(unknown.find(std::string(format.name) + ": ") != std::string::npos);
  }
  CHECK(trace_error(std::string(200, 'x'))
            .starts_with(":1: unknown trace format; it begins with '" + std::string(80, 'x') +
                         "...'. Known formats: "));
}

TEST_CASE("a damaged gzip file is refused", "[workloads]") {
  CHECK(trace_error("\x1f\x8b") == ": damaged gzip file (it ends too early)");
  CHECK(trace_error("\x1f\x8b\x08 compressed") == ": damaged gzip file (unknown header flags set)");
  const std::string packed = gzip(kHeader + kGoodRow);
  CHECK(trace_error(packed.substr(0, packed.size() - 9)) ==
        ": damaged gzip file (it ends too early)");
  std::string changed = packed;
  changed[changed.size() - 5] ^= 1;  // the last byte of the checksum, before 4 of the length
  CHECK(trace_error(changed) == ": damaged gzip file (incorrect data check)");
  CHECK(trace_error(packed + "no second member") == ": damaged gzip file (incorrect header check)");
}

TEST_CASE("an Azure header with a wrong column is refused", "[workloads]") {
  CHECK(trace_error("TIMESTAMP,ContextTokens,GeneratedTokens,Model\n") ==
        ":1: unknown column 'Model' in the header; known columns: TIMESTAMP, NumImages, "
        "ContextTokens, GeneratedTokens");
  CHECK(trace_error("TIMESTAMP,ContextTokens,GeneratedTokens,TIMESTAMP\n") ==
        ":1: second column 'TIMESTAMP' in the header");
}

TEST_CASE("a file that cannot be read is refused", "[workloads]") {
  const std::string directory = std::filesystem::temp_directory_path().string();
  CHECK(error_of(directory, [&] { static_cast<void>(read_trace(directory, {})); }) ==
        ": is a directory, not a file");
  const std::string missing = directory + "/headroom_no_such_file.csv";
  CHECK(error_of(missing, [&] { static_cast<void>(read_trace(missing, {})); }) ==
        ": cannot be opened (No such file or directory)");
}

TEST_CASE("a line without an end is refused before it fills the memory", "[workloads]") {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  const TempFile file(kHeader + std::string(kLimit - 1, '1') + "\n" + std::string(kLimit, '1'));
  LineReader lines(file.path(), kLimit);
  std::string_view line;
  REQUIRE(lines.next(line));
  REQUIRE(lines.next(line));
  CHECK(line.size() == kLimit - 1);
  CHECK(error_of(file.path(), [&] { static_cast<void>(lines.next(line)); }) ==
        ":3: line longer than 1048576 bytes");
}

TEST_CASE("a trace that changed after it was read has no hash", "[workloads]") {
  TempFile file(kHeader + kGoodRow);
  const Trace trace = read_trace(file.path(), {});
  CHECK(trace.sha256() == sha256_hex(kHeader + kGoodRow));
  file.write(kHeader + kGoodRow + kGoodRow);
  CHECK(error_of(file.path(), [&] { static_cast<void>(trace.sha256()); }) ==
        ": changed while it was read");
}

TEST_CASE("a table of lengths is one integer or one pair per line", "[workloads]") {
  const TempFile single("5\n7\r\n\n9");
  const LengthTable lengths = read_length_table(single.path());
  CHECK(lengths.prompt == std::vector<std::int64_t>{5, 7, 9});
  CHECK(lengths.output.empty());
  const TempFile pairs("input,output\n5,1\n7,2\n");
  const LengthTable table = read_length_table(pairs.path());
  CHECK(table.prompt == std::vector<std::int64_t>{5, 7});
  CHECK(table.output == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("a malformed table of lengths is refused", "[workloads]") {
  CHECK(table_error("5\n0\n") ==
        ":2: length is '0', expected an integer in 1 .. 2147483647 (1 rows read)");
  CHECK(table_error("5,x\n") ==
        ":1: length is 'x', expected an integer in 1 .. 2147483647 (0 rows read)");
  CHECK(table_error("5,1\n6\n") == ":2: row '6', expected input,output (1 rows read)");
  CHECK(table_error("5\n6,1\n") == ":2: row '6,1', expected one integer (1 rows read)");
  CHECK(table_error("input,output\n5\n") == ":2: row '5', expected input,output (0 rows read)");
  CHECK(table_error("input,output\n") == ": no lengths in this file");
}

}  // namespace headroom::trace_errors_test
