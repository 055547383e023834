#include "sim/report/page/html_report.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/unit/report/written_run.hpp"

namespace headroom::html_report_test {
using Catch::Contains;
using nlohmann::json;

namespace {

std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t begin = text.find(open);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find(close, begin + open.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + open.size(), end - begin - open.size());
}

std::string data_of(const std::string& page) {
  return between(page, R"(<script type="application/json" id="data">)", "</script>");
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a page holds the run's data, the library and the scripts") {
  const WrittenRun run("page");
  const std::string page = html_report({{run.path()}, "", "1.2.3"});
  CHECK_THAT(page, Contains("<title>page – Headroom</title>"));
  CHECK_THAT(page, Contains("Licensed to the Apache Software Foundation"));
  CHECK_THAT(page, !Contains("{{"));
  const json data = json::parse(data_of(page));
  CHECK(data["kind"] == "run");
  CHECK(data["runs"][0]["summary"]["digest"] == run.result().digest);
  CHECK(html_report({{run.path()}, "", "1.2.3"}) == page);
}

TEST_CASE("names of the user's never become markup or end the data") {
  const WrittenRun run("hostile");
  const std::string name = "</script><script>alert(1)</script>\u2028&<!--";
  const std::string quoted = "\"" + name + "\"";
  const std::string summary = run.text("summary.json");
  const std::size_t at = summary.find("\"hostile\"");
  REQUIRE(at != std::string::npos);
  std::string changed = summary;
  run.overwrite("summary.json", changed.replace(at, 9, quoted));

  const std::string plain = html_report({{run.path()}, "plain", "1"});
  const std::string page = html_report({{run.path()}, "", "1"});
  CHECK(count(page, "</script>") == count(plain, "</script>"));
  CHECK(count(page, "<!--") == count(plain, "<!--"));
  CHECK_THAT(page, !Contains("<script>alert"));
  CHECK_THAT(page, Contains("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
  const std::string data = data_of(page);
  CHECK(std::ranges::all_of(data, [](char c) { return c >= ' ' && c <= '~' && c != '<'; }));
  CHECK(json::parse(data)["runs"][0]["name"] == name);
  // A title may look like a place that is filled.
  CHECK_THAT(html_report({{run.path()}, "{{data}}", "1"}), Contains("<title>{{data}} – Headroom"));
}

TEST_CASE("several runs make a comparison, a study stands alone") {
  const WrittenRun a("first");
  const WrittenRun b("second", R"(, "seed": 2)");
  const std::string page = html_report({{a.path(), b.path()}, "", "1"});
  const json data = json::parse(data_of(page));
  CHECK(data["kind"] == "comparison");
  CHECK(data["title"] == "first and second");
  CHECK(data["runs"].size() == 2);
  CHECK_THROWS_WITH(html_report({{a.path(), a.file("summary.json")}, "", "1"}),
                    Contains("folders of runs, or a single study database"));
  CHECK_THROWS_WITH(html_report({std::vector<std::string>(9, a.path()), "", "1"}),
                    Contains("9 runs: expected at most 8"));
  CHECK_THROWS_AS(html_report({{a.file("summary.json")}, "", "1"}), ConfigError);
}

TEST_CASE("no file of the page asks for anything outside it") {
  for (const EmbeddedFile& file : web_files()) {
    if (file.name.starts_with("vendor/")) continue;
    INFO(file.name);
    const std::string text(file.content);
    for (const char* what : {"http://", "https://", "fetch(", "XMLHttpRequest", "@import", "url(",
                             "innerHTML", "document.write", "eval("}) {
      CHECK_THAT(text, !Contains(what));
    }
  }
}

TEST_CASE("the vendored library is the file whose checksum is written beside it") {
  const std::string readme_path =
      std::string(HEADROOM_SOURCE_DIR) + "/sim/report/web/vendor/README.md";
  std::stringstream readme;
  readme << std::ifstream(readme_path).rdbuf();
  const auto files = web_files();
  const auto library = std::ranges::find(files, "vendor/echarts.min.js", &EmbeddedFile::name);
  REQUIRE(library != files.end());
  Sha256 hash;
  hash.update(library->content);
  CHECK_THAT(readme.str(), Contains(hash.hex()));
}

}  // namespace headroom::html_report_test
