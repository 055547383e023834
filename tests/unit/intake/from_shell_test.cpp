// Words of a shell and values behind flags: sim/intake/shell_words.hpp and values.hpp.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/intake/shell_words.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::from_shell_test {
using Words = std::vector<std::string>;

namespace {

Words words_of(std::string_view text) {
  const ShellText shell = read_shell(text, "command");
  return shell.commands.empty() ? Words{} : shell.commands.front().words;
}

}  // namespace

TEST_CASE("quotes, escapes, comments and line continuations make words as in a shell") {
  CHECK(words_of("a 'b c' \"d e\" f\\ g ''") == Words{"a", "b c", "d e", "f g", ""});
  CHECK(words_of("a \\\n  b \\  \n c # d\n") == Words{"a", "b", "c"});
  CHECK(words_of("--x='{\"a\": 1}' \"\\\"q\\\"\" a#b") == Words{"--x={\"a\": 1}", "\"q\"", "a#b"});
  CHECK(words_of("# only a comment\n").empty());
}

TEST_CASE("curly quotes are typed ones, but text between straight ones of their kind") {
  CHECK(words_of("run \u2018b c\u2019 \u201cd e\u201d") == Words{"run", "b c", "d e"});
  CHECK(words_of("run 'it\u2019s one' x") == Words{"run", "it\u2019s one", "x"});
  CHECK(words_of("run \"say \u201chi\u201d\" x") == Words{"run", "say \u201chi\u201d", "x"});
  // Of the other kind they end nothing, and JSON needs them.
  CHECK(words_of("run '{\u201ca\u201d: 1}'") == Words{"run", "{\"a\": 1}"});
  // A straight one whose partner is curly.
  CHECK(words_of("run 'b c\u2019 d") == Words{"run", "b c", "d"});
  CHECK(words_of("run a\\'b \u2018c d\u2019") == Words{"run", "a'b", "c d"});
}

TEST_CASE("assignments in front of a command and exports before it are its environment") {
  const ShellText shell = read_shell("export A=1\nB=2\nC=3 run $B \"${A}x\" '$A'", "command");
  REQUIRE(shell.commands.size() == 1);
  // B is a variable of the shell only: it is not handed on.
  CHECK(shell.commands[0].environment == Variables{{"A", "1"}, {"C", "3"}});
  CHECK(shell.commands[0].words == Words{"run", "2", "1x", "$A"});
  CHECK(shell.unresolved.empty());
}

TEST_CASE("an unquoted variable is split into words, a quoted one is not") {
  CHECK(words_of("X='--tp 2'; run $X \"$X\"") == Words{"run", "--tp", "2", "--tp 2"});
}

TEST_CASE("a variable without a value keeps its name unless it has a default") {
  const ShellText shell = read_shell("run $NO ${NO} ${NO:-d} $(date +%s) a$", "command");
  CHECK(shell.commands.at(0).words == Words{"run", "$NO", "${NO}", "d", "$(date +%s)", "a$"});
  CHECK(shell.unresolved == std::vector<std::string>{"$NO", "${NO}", "$(date +%s)"});
}

TEST_CASE("operators end a command and redirections are dropped") {
  const ShellText shell = read_shell("cd x && run a >log 2>&1 &\necho b | tee c", "command");
  std::vector<Words> commands;
  for (const ShellCommand& command : shell.commands) commands.push_back(command.words);
  CHECK(commands == std::vector<Words>{{"cd", "x"}, {"run", "a"}, {"echo", "b"}, {"tee", "c"}});
}

TEST_CASE("here-documents are files of the text") {
  const ShellText shell = read_shell(
      "N=4\ncat <<EOF > a.yml\ntp: $N\n\nEOF\ncat > b.yml <<-'E'\n\tx: $N\n\tE\nrun --config a.yml",
      "command");
  CHECK(shell.files ==
        std::map<std::string, std::string>{{"a.yml", "tp: 4\n\n"}, {"b.yml", "x: $N\n"}});
  REQUIRE(shell.commands.size() == 3);
  CHECK(shell.commands[2].words == Words{"run", "--config", "a.yml"});
  CHECK_THROWS_AS(read_shell("cat <<EOF\na\n", "command"), ConfigError);
  CHECK_THROWS_AS(read_shell("cat <<EOF", "command"), ConfigError);
  CHECK(read_shell("cat <<E > a; echo x > b\n1\nE", "command").files ==
        std::map<std::string, std::string>{{"a", "1\n"}});
  CHECK(read_shell("cat <<E | tee a\n1\nE", "command").files ==
        std::map<std::string, std::string>{{"a", "1\n"}});
}

TEST_CASE("lines continue as in Windows, and signs of word processors are those that were meant") {
  CHECK(words_of("run ^\r\n --a 1 `\n --b 2") == Words{"run", "--a", "1", "--b", "2"});
  CHECK(words_of("run \u2013max-model-len \u201c4 k\u201d") ==
        Words{"run", "--max-model-len", "4 k"});
}

TEST_CASE("a placeholder is refused by its name") {
  CHECK_THROWS_WITH(read_shell("run -m <gguf> --port 1", "command"),
                    "command: <gguf> at character 8 stands for something: write it there");
  CHECK(read_shell("run < in > out", "command").commands.at(0).words == Words{"run"});
}

TEST_CASE("an open quote is refused with its place") {
  CHECK_THROWS_WITH(read_shell("run 'abc", "command"),
                    "command: unclosed quote at character 5: 'abc");
  CHECK_THROWS_WITH(read_shell("run \"abc\nd", "command"),
                    "command: unclosed quote at character 5: \"abc");
}

TEST_CASE("compose's words know quotes but no operators, and $$ is a dollar") {
  CHECK(split_words("a 'b;c' | $X\n --d", "file") == Words{"a", "b;c", "|", "$X", "--d"});
  std::vector<std::string> unresolved;
  CHECK(expand_variables("a$$B ${C-x} $D", {{"D", "4"}}, unresolved) == "a$B x 4");
  CHECK(unresolved.empty());
}

TEST_CASE("vLLM's human numbers: small suffixes are decimal, capital ones binary") {
  // The examples in vLLM's own human_readable_int: 1k, 1K, 25.6k.
  CHECK(human_number("1k") == 1000);
  CHECK(human_number("1K") == 1024);
  CHECK(human_number("25.6k") == 25600);
  CHECK(human_number("2M") == 2 * 1024 * 1024);
  CHECK(human_number("32768") == 32768);
  CHECK_FALSE(human_number("1.5K").has_value());
  CHECK_FALSE(human_number("k").has_value());
  CHECK_FALSE(human_number("32kb").has_value());
  CHECK_FALSE(human_number("9999999t").has_value());  // above 2^53
}

TEST_CASE("container sizes are powers of 1024 in any spelling") {
  CHECK(container_bytes("16g") == 16.0 * 1024 * 1024 * 1024);
  CHECK(container_bytes("16GB") == container_bytes("16GiB"));
  CHECK(container_bytes("512m") == 512.0 * 1024 * 1024);
  CHECK(container_bytes("1.5k") == 1536.0);
  CHECK(container_bytes("67108864") == 67108864.0);
  CHECK_FALSE(container_bytes("16x").has_value());
  CHECK_FALSE(container_bytes("-1g").has_value());
  CHECK(gib(*container_bytes("16g")).dump() == "16");
  CHECK(gib(*container_bytes("64m")).dump() == "0.0625");  // 64 / 1024
}

}  // namespace headroom::from_shell_test
