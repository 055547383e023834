#include "sim/observe/server_url.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/kernel/errors.hpp"

namespace headroom::server_url_test {

TEST_CASE("a URL names scheme, host, port and what all paths begin with") {
  CHECK(parse_server_url("http://127.0.0.1:8000").text() == "http://127.0.0.1:8000");
  CHECK(parse_server_url("http://localhost").text() == "http://localhost:80");
  CHECK(parse_server_url("https://a.example/").text() == "https://a.example:443");
  CHECK(parse_server_url("http://[::1]:8000/v1").text() == "http://[::1]:8000");
  // As clients of OpenAI's API give it.
  CHECK(parse_server_url("http://127.0.0.1:8000/v1/").path.empty());
  CHECK(parse_server_url("http://127.0.0.1:8000/models/a/v1").path == "/models/a");
}

TEST_CASE("what is no URL of a server is refused") {
  for (const char* url :
       {"", "127.0.0.1:8000", "ftp://127.0.0.1", "http://", "http://:8000", "http://a:0",
        "http://a:65536", "http://a:port", "http://a b", "http://[::1", "http://[::1]x",
        "http://a/?key=1", "http://a/#x", "http://me@a", "http://a\n"}) {
    INFO(url);
    CHECK_THROWS_AS(parse_server_url(url), ConfigError);
  }
}

TEST_CASE("the error about a user name does not repeat the password") {
  try {
    (void)parse_server_url("http://me:secret@127.0.0.1");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("secret") == std::string::npos);
  }
}

}  // namespace headroom::server_url_test
