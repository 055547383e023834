#include "workloads/servegen_pools.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/dict_literal.hpp"
#include "workloads/servegen.hpp"
#include "workloads/traces/input_file.hpp"

namespace headroom::servegen_pools_test {
namespace {

namespace fs = std::filesystem;

const std::string kDataset = R"({"0": {"input_tokens": "{1: 1}", "output_tokens": "{2: 1}"}})";

// The message with which reading a pool of one client ends, without the folder.
std::string error_of(const std::string& trace, const std::string& dataset = kDataset) {
  const TempFolder folder;
  folder.write("chunk-4-trace.csv", trace);
  folder.write("chunk-4-dataset.json", dataset);
  try {
    const ServeGenPools pools(folder.path());
  } catch (const DataError& error) {
    const std::string message = error.what();
    return message.starts_with(folder.path()) ? message.substr(folder.path().size()) : message;
  }
  return "no error";
}

std::string dataset_error(const std::string& fields) {
  return error_of("0,1,1,Gamma,1,1\n", R"({"0": {)" + fields + "}}");
}

std::string field_error(const std::string& dict) {
  return dataset_error(R"("output_tokens": "{2: 1}", "input_tokens": ")" + dict + "\"");
}

std::string unpacked(const std::string& path) {
  InputFile file(path);
  std::string bytes;
  std::string block(1 << 20, '\0');
  while (const std::size_t got = file.read(block.data(), block.size())) bytes.append(block, 0, got);
  return bytes;
}

// Unpacks the files of a tar archive (POSIX: headers of 512 bytes, sizes in octal) into a folder.
void unpack(const std::string& archive, const TempFolder& folder) {
  constexpr std::size_t kBlock = 512;
  const std::string bytes = unpacked(archive);
  for (std::size_t at = 0; at + kBlock <= bytes.size() && bytes[at] != '\0';) {
    const std::string name = bytes.substr(at, 100).c_str();
    const std::size_t size = std::stoul(bytes.substr(at + 124, 11), nullptr, 8);
    const bool is_file = bytes[at + 156] == '0';
    if (is_file) {
      folder.write(fs::path(name).filename().string(),
                   std::string_view(bytes).substr(at + kBlock, size));
    }
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
}

struct Sums {
  std::int64_t requests = 0;
  double prompt = 0.0;
  double prompt_squares = 0.0;
  double output = 0.0;
  double output_squares = 0.0;
  double thinking = 0.0;
  double thinking_squares = 0.0;
};

void add(double tokens, double& sum, double& squares) {
  sum += tokens;
  squares += tokens * tokens;
}

Sums sums_of(ServeGenStream stream) {
  Sums sums;
  while (stream.next_time() != kNever) {
    const ServeGenRequest request = stream.take();
    ++sums.requests;
    add(request.prompt_tokens, sums.prompt, sums.prompt_squares);
    add(request.output_tokens, sums.output, sums.output_squares);
    add(request.thinking_tokens, sums.thinking, sums.thinking_squares);
  }
  CHECK(stream.skipped().windows == 0);
  return sums;
}

// Whether a sum of independent values is within 4 standard errors of what is expected of it (of
// at most the root of their squares' sum).
bool fits(double sum, double squares, double expected) {
  return std::abs(sum - expected) < 4.0 * std::sqrt(squares);
}

struct Published {
  std::string archive;
  std::size_t clients;
  std::int64_t requests;
  // Means per request of the laws in the files, weighted with the requests of each client and
  // window; of thinking with the output's and the ratio's law driven by the same number.
  double prompt;
  double output;
  double thinking;
};

void check_published(const Published& expected) {
  const fs::path archive = fs::path(HEADROOM_SHARED_DIR) / "traces" / "servegen" / expected.archive;
  if (!fs::exists(archive)) {
    WARN("skipped: " << expected.archive << " is not on this machine");
    return;
  }
  const TempFolder folder;
  unpack(archive.string(), folder);
  const auto pools = std::make_shared<ServeGenPools>(folder.path());
  CHECK(pools->clients().size() == expected.clients);
  CHECK(pools->end_s() == 86'400);
  CHECK(pools->expected_requests_e9() == Int128{expected.requests} * 1'000'000'000);

  const Sums sums = sums_of(ServeGenStream(pools, {}, 1));
  CHECK(sums.requests == expected.requests);
  const auto count = static_cast<double>(expected.requests);
  CHECK(fits(sums.prompt, sums.prompt_squares, expected.prompt * count));
  CHECK(fits(sums.output, sums.output_squares, expected.output * count));
  CHECK(fits(sums.thinking, sums.thinking_squares + 1.0, expected.thinking * count));
  // Means that are 2 % off would be found out.
  CHECK_FALSE(fits(sums.prompt, sums.prompt_squares, 1.02 * expected.prompt * count));
  CHECK_FALSE(fits(sums.output, sums.output_squares, 1.02 * expected.output * count));
}

TEST_CASE("the published ServeGen pool of deepseek-r1 has its requests and lengths",
          "[workloads][large]") {
  check_published({.archive = "servegen-reason-deepseek-r1.tar.gz",
                   .clients = 73,
                   .requests = 1'383'669,
                   .prompt = 1268.25,
                   .output = 1527.42,
                   .thinking = 1249.71});
}

TEST_CASE("the published ServeGen pool of mm-image has its requests and lengths",
          "[workloads][large]") {
  // Text 572.09 and images 870.00 per request.
  check_published({.archive = "servegen-multimodal-mm-image.tar.gz",
                   .clients = 35,
                   .requests = 818'610,
                   .prompt = 1442.09,
                   .output = 129.70,
                   .thinking = 0.0});
}

TEST_CASE("a ServeGen pool is read with all its clients in order", "[workloads]") {
  const ServeGenPools pools(trace_rows::sample("servegen"));
  REQUIRE(pools.clients().size() == 2);
  const ServeGenClient& seven = pools.clients()[0];
  CHECK(seven.id == 7);
  REQUIRE(seven.windows.size() == 4);
  CHECK(seven.windows[0].gaps == ServeGenWindow::Gaps::idle);
  CHECK(seven.windows[1].start_s == 600);
  CHECK(seven.windows[1].requests_e9 == 30'000'000'000);  // 0.05/s: exactly 30
  CHECK(seven.windows[1].shape == 0.4);
  CHECK(seven.windows[2].gaps == ServeGenWindow::Gaps::weibull);
  CHECK(pools.clients()[1].id == 12);
  CHECK(pools.end_s() == 2400);
  // 30 + 12 + 6 + 18 + 7.5
  CHECK(pools.expected_requests_e9() == Int128{73'500'000'000});
}

TEST_CASE("lengths apply until the next ones begin", "[workloads]") {
  const ServeGenPools pools(trace_rows::sample("servegen"));
  const ServeGenClient& seven = pools.clients()[0];
  CHECK(seven.lengths_at(0) == &seven.lengths[0]);
  CHECK(seven.lengths_at(1199) == &seven.lengths[0]);
  CHECK(seven.lengths_at(1200) == &seven.lengths[1]);
  CHECK(seven.lengths_at(1800) == nullptr);  // "{}"
  CHECK(seven.lengths_at(-1) == nullptr);
  CHECK(seven.lengths[0].prompt.mean() == Approx(0.25 * 10 + 0.5 * 20 + 0.25 * 400));
  CHECK(seven.lengths[0].reason_bins == 5);
}

TEST_CASE("a ServeGen law gives each value its share", "[workloads]") {
  const ServeGenLaw law({3, 5, 9}, {250, 500, 250});
  CHECK(law.at(0.001) == 3);
  CHECK(law.at(0.2499) == 3);
  CHECK(law.at(0.25) == 5);
  CHECK(law.at(0.7499) == 5);
  CHECK(law.at(0.75) == 9);
  CHECK(law.at(0.999'999'999'999) == 9);
}

TEST_CASE("dict literals are split into keys and values", "[workloads]") {
  using Items = DictItems;
  CHECK(parse_dict_literal("{}") == Items{});
  CHECK(parse_dict_literal(" { } ") == Items{});
  CHECK(parse_dict_literal("{1: 0.5, 2: 5e-1}") == Items{{"1", "0.5"}, {"2", "5e-1"}});
  CHECK(parse_dict_literal("{1:0.5,2:0.5,}") == Items{{"1", "0.5"}, {"2", "0.5"}});
  for (const std::string_view text :
       {"", "{", "{1: 2", "{1 2}", "{1: }", "{: 2}", "{1: 2 3: 4}", "{,}", "{1: 2}}", "[1, 2]"}) {
    CHECK(parse_dict_literal(text) == std::nullopt);
  }
}

TEST_CASE("a malformed window of a ServeGen client is refused with its line", "[workloads]") {
  const std::string good = "0,1,1,Gamma,1,1\n";
  const std::string place = "/chunk-4-trace.csv:2: ";
  CHECK(error_of(good + "600,-1,1,Gamma,1,1\n") ==
        place + "rate_rps is '-1', expected requests per second >= 0 (1 rows read)");
  CHECK(error_of(good + "600,nan,1,Gamma,1,1\n") ==
        place + "rate_rps is 'nan', expected requests per second >= 0 (1 rows read)");
  CHECK(error_of(good + "600,1,1,Pareto,1,1\n") ==
        place + "pattern is 'Pareto', expected Gamma, Weibull or empty (1 rows read)");
  CHECK(error_of(good + "600,1,1,Gamma,0,1\n") ==
        place + "p1 is '0', expected a shape in 0.001 .. 1000000 (1 rows read)");
  CHECK(error_of(good + "600,1,1,Weibull,0.001,1\n") ==
        place + "p1 is '0.001', expected a shape in 0.01 .. 1000000 (1 rows read)");
  CHECK(error_of(good + "300,1,1,Gamma,1,1\n") ==
        place +
            "start_s is '300', expected an integer in 600 .. 4000000000: windows of 600 s, in "
            "order (1 rows read)");
  CHECK(error_of(good + "600,1,1,Gamma,1\n") ==
        place + "row is '600,1,1,Gamma,1', expected 6 comma-separated fields (1 rows read)");
  CHECK(error_of("\n") == "/chunk-4-trace.csv: no windows in this file");
}

TEST_CASE("malformed lengths of a ServeGen client are refused with their place", "[workloads]") {
  const std::string place = "/chunk-4-dataset.json:1: ";
  CHECK(field_error("{1: 0.5, 2: 0.25}") ==
        place +
            "0.input_tokens is '{1: 0.5, 2: 0.25}', expected probabilities with the sum 1 (0 "
            "rows read)");
  CHECK(field_error("{1: 1.5}") ==
        place +
            "0.input_tokens is '{1: 1.5}', expected probabilities in 0 .. 1, not '1.5' (0 "
            "rows read)");
  CHECK(field_error("{1: 0.5, x: 0.5}") ==
        place +
            "0.input_tokens is '{1: 0.5, x: 0.5}', expected keys >= 0 in order, not 'x' (0 "
            "rows read)");
  CHECK(field_error("{2: 0.5, 1: 0.5}") ==
        place +
            "0.input_tokens is '{2: 0.5, 1: 0.5}', expected keys >= 0 in order, not '1' (0 "
            "rows read)");
  CHECK(field_error("1: 1}") ==
        place +
            "0.input_tokens is '1: 1}', expected a dict such as {45: 0.25, 46: 0.75} (0 rows "
            "read)");
  CHECK(dataset_error(R"("output_tokens": {"2": 1})") ==
        place + "0.output_tokens is an object, expected a text with a dict (0 rows read)");
  CHECK(dataset_error(R"("input_tokens": "{2: 1}")") ==
        place + "0 is an object, expected an object with output_tokens (0 rows read)");
  CHECK(dataset_error(R"("output_tokens": "{2: 1}")") ==
        place +
            "0 is an object, expected an object with input_tokens or text_tokens (0 rows "
            "read)");
  CHECK(dataset_error(R"("output_tokens": "{2: 1}", "text_tokens": "{2: 1}",)"
                      R"( "image_count": "{2: 1}")") ==
        place +
            "0 is an object, expected an object that has both the _count and the _tokens of a "
            "medium (0 rows read)");
  CHECK(dataset_error(R"("image_count": "{20000: 1}")") ==
        place +
            "0.image_count is '{20000: 1}', expected at most 10000 pieces in a prompt (0 rows "
            "read)");
  CHECK(error_of("0,1,1,Gamma,1,1\n", R"({"noon": {}})") ==
        place + "noon is an object, expected windows by their start in s, in order (0 rows read)");
  CHECK(error_of("0,1,1,Gamma,1,1\n", "") == "/chunk-4-dataset.json: is empty");
}

TEST_CASE("a ServeGen folder without a pair of files per client is refused", "[workloads]") {
  const TempFolder folder;
  CHECK_THROWS_WITH(ServeGenPools(folder.path()),
                    folder.path() +
                        ": no chunk-<client>-trace.csv in this folder; a ServeGen "
                        "pool is data/<category>/<model>");
  folder.write("chunk-3-trace.csv", "0,0,0,,0,0\n");
  CHECK_THROWS_WITH(ServeGenPools(folder.path()),
                    folder.path() + ": client 3 has no chunk-3-dataset.json");
  const std::string missing = folder.path() + "/missing";
  CHECK_THROWS_AS(ServeGenPools(missing), DataError);
}

}  // namespace
}  // namespace headroom::servegen_pools_test
