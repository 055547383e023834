// Tables that nobody has described: headers of public data sets and logs, with two rows each,
// written here.

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_file.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traces/table_columns.hpp"

namespace headroom::table_trace_test {
namespace {

Trace read(std::string_view content, const std::string& columns = {}) {
  const TempFile file(content);
  return read_trace(file.path(), {.columns = columns});
}

std::string error_of(std::string_view content, const std::string& columns = {}) {
  try {
    static_cast<void>(read(content, columns));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

struct Header {
  std::string_view of;
  std::string_view content;
  std::string_view format;
  TimeNs second_ns;  // time of the second row, from the first
};

// The first row of each has 10 tokens in and 3 out, the second 20 and 4.
const std::vector<Header> kHeaders = {
    {"Azure LLM inference 2023",
     "TIMESTAMP,ContextTokens,GeneratedTokens\n"
     "2023-11-16 18:17:03.9799600,10,3\n2023-11-16 18:17:04.4799600,20,4\n",
     "azure", 500'000'000},
    {"Azure LLM inference 2024",
     "TIMESTAMP,ContextTokens,GeneratedTokens\n"
     "2024-05-10 00:00:00.000000+00:00,10,3\n2024-05-10 00:00:00.500000+00:00,20,4\n",
     "azure", 500'000'000},
    {"BurstGPT",
     "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
     "5,ChatGPT,10,3,13,Conversation log\n6,GPT-4,20,4,24,API log\n",
     "burstgpt", 1'000'000'000},
    {"BurstGPT with sessions",
     "Timestamp,Session ID,Elapsed time,Model,Request tokens,"
     "Response tokens,Total tokens,Log Type\n5,1,2,ChatGPT,10,3,13,API log\n"
     "6,2,2,GPT-4,20,4,24,API log\n",
     "burstgpt", 1'000'000'000},
    {"Mooncake",
     "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 3, \"hash_ids\": [0]}\n"
     "{\"timestamp\": 3000, \"input_length\": 20, \"output_length\": 4, \"hash_ids\": [1]}\n",
     "mooncake", 3'000'000'000},
    {"Vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,3\n1.0,20,4\n", "vidur",
     500'000'000},
    {"Mooncake without ids",
     "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 3}\n"
     "{\"timestamp\": 3000, \"input_length\": 20, \"output_length\": 4}\n",
     "mooncake", 3'000'000'000},
    {"DynamoLLM", "Timestamp,Input Length,Output Length\n0.0,10,3\n0.5,20,4\n", "table",
     500'000'000},
    {"OpenAI usage",
     "{\"created\": 1714000000, \"model\": \"m\", \"usage\": {\"prompt_tokens\": 10,"
     " \"completion_tokens\": 3}}\n{\"created\": 1714000001, \"model\": \"m\", \"usage\": "
     "{\"prompt_tokens\": 20, \"completion_tokens\": 4}}\n",
     "table", 1'000'000'000},
    {"LiteLLM",
     "request_id,call_type,spend,total_tokens,prompt_tokens,completion_tokens,startTime,"
     "endTime,model\na,acompletion,0,13,10,3,2024-05-01 12:00:00.250+00:00,x,m\n"
     "b,acompletion,0,24,20,4,2024-05-01 12:00:01.250+00:00,x,m\n",
     "table", 1'000'000'000},
    {"Langfuse",
     "id;timestamp;name;inputTokens;outputTokens;totalTokens;latency\n"
     "a;2024-05-01T12:00:00.000Z;chat;10;3;13;1.5\nb;2024-05-01T12:00:02.000Z;chat;20;4;24;1.5\n",
     "table", 2'000'000'000},
    {"vLLM request log", "arrival_time,prompt_len,output_len\n0.25,10,3\n0.75,20,4\n", "table",
     500'000'000},
    {"Helicone",
     "request_created_at,prompt_tokens,completion_tokens,delay_ms\n"
     "2024-05-01T12:00:00,10,3,900\n2024-05-01T12:00:01,20,4,900\n",
     "table", 1'000'000'000},
    {"OpenTelemetry",
     "{\"start_time_unix_nano\": 1714000000000000000, \"gen_ai.usage.input_tokens\":"
     " 10, \"gen_ai.usage.output_tokens\": 3}\n{\"start_time_unix_nano\": 1714000000500000000, "
     "\"gen_ai.usage.input_tokens\": 20, \"gen_ai.usage.output_tokens\": 4}\n",
     "table", 500'000'000},
    {"Elastic",
     "{\"@timestamp\": \"2024-05-01T12:00:00.000Z\", \"input_tokens\": 10, "
     "\"output_tokens\": 3}\n{\"@timestamp\": \"2024-05-01T12:00:01.000Z\", \"input_tokens\": 20, "
     "\"output_tokens\": 4}\n",
     "table", 1'000'000'000},
    {"Anthropic usage",
     "timestamp,input_tokens,output_tokens,cache_read_input_tokens\n"
     "1714000000,10,3,0\n1714000001,20,4,0\n",
     "table", 1'000'000'000},
    {"NVIDIA", "arrival_time_ms,isl,osl\n12,10,3\n512,20,4\n", "table", 500'000'000},
    {"tabs", "Arrival Time (ms)\tPrompt Length\tOutput Length\n0\t10\t3\n250\t20\t4\n", "table",
     250'000'000},
    {"Llumnix", "arrival_timestamp,prompt_tokens,generated_tokens\n100.5,10,3\n101.0,20,4\n",
     "table", 500'000'000},
    {"milliseconds since 1970", "ts,in,out\n1714000000000,10,3\n1714000000100,20,4\n", "table",
     100'000'000},
    {"microseconds since 1970", "ts,in,out\n1714000000000000,10,3\n1714000000100000,20,4\n",
     "table", 100'000'000},
    {"microseconds", "start_us|prompt|completion\n0|10|3\n700000|20|4\n", "table", 700'000'000},
    {"camel case", "requestTime,promptTokens,completionTokens\n0.5,10,3\n1.5,20,4\n", "table",
     1'000'000'000},
    {"slashes", "date,input_len,output_len\n2024/05/01 12:00:00,10,3\n2024/05/01 12:00:01,20,4\n",
     "table", 1'000'000'000},
    {"quotes",
     "\"time\",\"prompt text, short\",\"prompt_tokens\",\"completion_tokens\"\n"
     "\"0.5\",\"a, b\",\"10\",\"3\"\n\"1.0\",\"c\",\"20\",\"4\"\n",
     "table", 500'000'000},
    {"text beside its tokens",
     "timestamp,prompt,response,prompt_tokens,response_tokens\n"
     "1.0,hello there,hi,10,3\n1.5,more text,ok,20,4\n",
     "table", 500'000'000},
    {"data frames",
     "start_time_s,num_prompt_tokens,num_completion_tokens\n0.5,10.0,3.0\n"
     "1.0,20.0,4.0\n",
     "table", 500'000'000},
    {"Ollama log",
     "{\"created_at\": \"2024-05-01T12:00:00.5Z\", \"prompt_token_count\": 10, "
     "\"generated_tokens\": 3}\n{\"created_at\": \"2024-05-01T12:00:01.0Z\", "
     "\"prompt_token_count\": 20, \"generated_tokens\": 4}\n",
     "table", 500'000'000},
};

TEST_CASE("headers of public data sets and logs are read as their format, else by their names",
          "[workloads]") {
  for (const Header& header : kHeaders) {
    INFO(header.of);
    const Trace trace = read(header.content);
    CHECK(trace.format == header.format);
    CHECK(trace.clock == TraceClock::absolute);
    REQUIRE(trace.rows.size() == 2);
    CHECK(trace.rows[0].prompt_tokens == 10);
    CHECK(trace.rows[0].output_tokens == 3);
    CHECK(trace.rows[1].prompt_tokens == 20);
    CHECK(trace.rows[1].output_tokens == 4);
    CHECK(trace.rows[1].time_ns == header.second_ns);
    CHECK(trace.warning.empty() == (header.format != "table"));
  }
}

TEST_CASE("lengths without times need an arrival process", "[workloads]") {
  const Trace trace = read("prompt_len,response_len\n10,3\n20,4\n");
  CHECK(trace.clock == TraceClock::none);
  CHECK(trace.warning.find("no column of times") != std::string::npos);
}

TEST_CASE("a column that may hold times, but is not known to, is not passed over", "[workloads]") {
  const std::string table = "session_start_at,prompt_len,response_len\n0.5,10,3\n1.0,20,4\n";
  CHECK(error_of(table).find("no column is known to hold the times of requests (columns: "
                             "session_start_at, prompt_len, response_len)") != std::string::npos);
  CHECK(read(table, "time=session_start_at").rows[1].time_ns == 500'000'000);
  CHECK(read(table, "time=none").clock == TraceClock::none);
}

TEST_CASE("what was assumed is one line", "[workloads]") {
  CHECK(read("ts,in,out\n0,10,3\n5000,20,4\n").warning ==
        "columns: in = in, out = out, time = ts (ms, by the size of its values)");
  CHECK(read("ts_s,in,out\n0,10,3\n5000,20,4\n").warning ==
        "columns: in = in, out = out, time = ts_s (s)");
}

TEST_CASE("a column that is missing is named, with those that are there", "[workloads]") {
  // Texts without counts of tokens.
  CHECK(error_of("{\"conversation_hash\": \"a\", \"timestamp\": \"2023-04-09T00:02:53\", "
                 "\"question\": \"why\", \"turn\": 1}\n")
            .find("no column holds the tokens of prompts, and none holds the tokens of answers "
                  "(columns: conversation_hash, timestamp, question, turn); if any does, name it: "
                  "--columns in=NAME,out=NAME") != std::string::npos);
  CHECK(error_of("timestamp,prompt_tokens,latency\n1,2,3\n")
            .find("no column holds the tokens of answers (columns: timestamp, prompt_tokens, "
                  "latency)") != std::string::npos);
  CHECK(error_of("when,a,b\n1,2,3\n", "in=a,out=c").find("no column 'c' (columns: when, a, b)") !=
        std::string::npos);
}

TEST_CASE("all that is wrong with the columns is said at once", "[workloads]") {
  CHECK(error_of("start_of_it,a,b\n1,2,3\n")
            .find("no column holds the tokens of prompts, and none holds the tokens of answers, "
                  "and none is known to hold the times of requests (columns: start_of_it, a, b); "
                  "if any does, name it: --columns in=NAME,out=NAME,time=NAME:s") !=
        std::string::npos);
  CHECK(error_of("when,a,b\n1,2,3\n", "time=x,in=y,out=b")
            .find("no columns 'y', 'x' (columns: when, a, b)") != std::string::npos);
  // Columns of numbers that no name explains.
  CHECK(error_of("Zeit;Eingabe;Ausgabe\n0,036;3671;84\n").find("columns: Zeit, Eingabe, Ausgabe") !=
        std::string::npos);
}

TEST_CASE("commas are decimal points where they do not separate", "[workloads]") {
  const Trace trace = read("time;in;out\n0,036;10;3\n0,11;20;4\n");
  CHECK(trace.rows[1].time_ns - trace.rows[0].time_ns == 74'000'000);
  CHECK(trace.rows[1].prompt_tokens == 20);
  CHECK(trace.warning.find("commas are decimal points") != std::string::npos);
  // Whole counts as data frames print them, and a count that is no whole number.
  CHECK(read("time;in;out\n0,5;10,0;3\n1;20;4\n").rows[0].prompt_tokens == 10);
  CHECK(error_of("time;prompt_tokens;out\n0,5;10,5;3\n").find(":2: prompt_tokens is '10,5'") !=
        std::string::npos);
  // A count is whole: alone, this comma stands between thousands.
  CHECK(read("time;prompt_tokens;out\n0;3,671;3\n").rows[0].prompt_tokens == 3671);
  CHECK(error_of("time;prompt_tokens;out\n0,5;3,671;3\n").find(":2: prompt_tokens is '3,671'") !=
        std::string::npos);
}

TEST_CASE("commas between thousands are left out", "[workloads]") {
  const Trace trace = read("time,in_tok,out_tok\n1,\"1,200\",\"12\"\n2,\"1,234,567\",900\n");
  REQUIRE(trace.rows.size() == 2);
  CHECK(trace.rows[0].prompt_tokens == 1200);
  CHECK(trace.rows[1].prompt_tokens == 1'234'567);
  for (const char* wrong : {"1,20", "12,00,000", ",200", "1234,567"}) {
    INFO(wrong);
    CHECK(error_of(std::string("time,in,out\n1,\"") + wrong + "\",12\n") != "");
  }
}

TEST_CASE("dates of spreadsheets show whether the month stands first", "[workloads]") {
  const auto second_ns = [](const std::string& first, const std::string& second,
                            const std::string& columns = "") {
    return read("date,in,out\n" + first + ",10,3\n" + second + ",20,4\n", columns).rows[1].time_ns;
  };
  constexpr TimeNs kHour = 3'600'000'000'000;
  CHECK(second_ns("11/27/2026 11:04:05 AM", "11/27/2026 1:04:05 PM") == 2 * kHour);
  CHECK(second_ns("11/27/2026 12:00:00 AM", "11/27/2026 12:00:00 PM") == 12 * kHour);
  CHECK(second_ns("27/11/2026 10:00", "28/11/2026 10:00") == 24 * kHour);
  CHECK(second_ns("01.02.2026 10:00:00", "02.02.2026 10:00:00") == 24 * kHour);
  // As web servers write it.
  CHECK(second_ns("01/Feb/2026:10:00:00 +0100", "01/Feb/2026:10:00:00 +0000") == kHour);
  CHECK(second_ns("[31/Jan/2026:23:00:00 +0000]", "[01/Feb/2026:01:00:00 +0000]") == 2 * kHour);
  CHECK(error_of("time_local,in,out\n01/Fex/2026:10:00:00 +0100,10,3\n") != "");
  CHECK(error_of("time_local,in,out\n31/Feb/2026:10:00:00 +0100,10,3\n").find("DD/Mon/YYYY") !=
        std::string::npos);
  // The first of February or the second of January.
  CHECK(error_of("date,in,out\n02/01/2026 10:00,10,3\n").find("--columns time=date:mdy or :dmy") !=
        std::string::npos);
  CHECK(second_ns("02/01/2026 10:00", "02/02/2026 10:00", "time=date:mdy") == 24 * kHour);
  CHECK(second_ns("02/01/2026 10:00", "03/01/2026 10:00", "time=date:dmy") == 24 * kHour);
  CHECK(error_of("date,in,out\n11/27/2026 1:00,10,3\n27/11/2026 1:00,20,4\n").find("mdy or :dmy") !=
        std::string::npos);
  CHECK(error_of("date,in,out\n11/27/2026 13:00 PM,10,3\n").find("MM/DD/YYYY") !=
        std::string::npos);
  CHECK(error_of("date,in,out\n02/30/2026 13:00,10,3\n").find("MM/DD/YYYY") != std::string::npos);
}

TEST_CASE("a file without a header needs numbers of columns", "[workloads]") {
  const std::string values = "0.25,10,3,gpt\n0.75,20,4,gpt\n";
  CHECK(error_of(values).find(":1: no header line: '0.25,10,3,gpt' holds values; say what the "
                              "columns are by their numbers: --columns time=1:s,in=2,out=3") !=
        std::string::npos);
  const Trace trace = read(values, "time=1:s,in=2,out=3");
  REQUIRE(trace.rows.size() == 2);
  CHECK(trace.rows[0].prompt_tokens == 10);
  CHECK(trace.rows[1].time_ns == 500'000'000);
  CHECK(error_of(values, "time=1:s,in=2,out=7").find("no column '7' (columns: 1, 2, 3, 4)") !=
        std::string::npos);
}

TEST_CASE("rows of failed requests are left out and counted", "[workloads]") {
  const std::string table =
      "time,in,out,status\n0.5,10,3,200\n1.0,99,1,429\n1.5,20,4,200\n2.0,99,1,503\n2.5,5,5,\n";
  const Trace trace = read(table);
  REQUIRE(trace.rows.size() == 3);
  CHECK(trace.rows[1].prompt_tokens == 20);
  CHECK(trace.warning.find("2 of 5 rows are failed requests (status 400 or more) and are left "
                           "out") != std::string::npos);
  CHECK(read(table, "status=none").rows.size() == 5);
  CHECK(read("time,in,out,s\n1,10,3,500\n2,10,3,200\n", "status=s").rows.size() == 1);
  // A column of another kind with this name.
  CHECK(read("time,in,out,status\n1,10,3,stop\n2,10,3,length\n").rows.size() == 2);
  CHECK(error_of("time,in,out,s\n1,10,3,ok\n", "status=s").find("s is 'ok', expected an HTTP") !=
        std::string::npos);
}

TEST_CASE("columns are what the user says", "[workloads]") {
  const Trace trace = read("when,a,b\n0,10,3\n5000,20,4\n", "time=when:us,in=a,out=b");
  CHECK(trace.rows[1].time_ns == 5'000'000);
  CHECK(trace.rows[1].prompt_tokens == 20);
  // Also instead of what the names say.
  CHECK(read("ts,in,out\n0,10,3\n5,20,4\n", "in=out,out=in").rows[0].prompt_tokens == 3);
  CHECK_THROWS_AS(parse_columns("time"), ConfigError);
  CHECK_THROWS_AS(parse_columns("when=a"), ConfigError);
  CHECK_THROWS_AS(parse_columns("time=a:h"), ConfigError);
  CHECK_THROWS_AS(parse_columns("in=a,in=b"), ConfigError);
}

TEST_CASE("a span that makes no sense is a warning", "[workloads]") {
  std::string rows = "time_ns,in,out\n";
  for (int i = 0; i < 7; ++i) rows += std::to_string(1000 * i) + ",10,3\n";
  CHECK(read(rows).warning.find("makes no sense") != std::string::npos);
  CHECK(read(rows, "time=time_ns:s").warning.find("makes no sense") == std::string::npos);
}

TEST_CASE("a malformed value is refused at its place", "[workloads]") {
  CHECK(error_of("time,in,out\n1,10,3\n2,x,4\n").find(":3: in is 'x', expected an integer") !=
        std::string::npos);
  CHECK(error_of("time,in,out\n1,10,3\n2,x,4\n", "in=in")
            .find(":3: in is 'x', expected an integer in 0 .. 2147483647 (1 rows read)") !=
        std::string::npos);
  CHECK(error_of("{\"time\": 1, \"in\": 10, \"out\": 3}\n{\"time\": -1, \"in\": 1, \"out\": 3}\n")
            .find(":2: time is '-1', expected a number >= 0") != std::string::npos);
}

TEST_CASE("a wrong cell in the first rows is refused like one further down", "[workloads]") {
  for (const std::string wrong : {"-5", "abc", "1e9", "\"1,20\""}) {
    CAPTURE(wrong);
    // The only row, and one of three.
    CHECK(error_of("ts,prompt_tokens,completion_tokens\n0," + wrong + ",3\n")
              .find(":2: prompt_tokens is '") != std::string::npos);
    CHECK(error_of("ts,prompt_tokens,completion_tokens\n0," + wrong + ",3\n1,10,3\n2,10,3\n")
              .find(":2: prompt_tokens is '") != std::string::npos);
    CHECK(error_of("ts,prompt_tokens,completion_tokens\n0,10,3\n1,10," + wrong + "\n2,10,3\n")
              .find(":3: completion_tokens is '") != std::string::npos);
  }
  CHECK(error_of("ts,in,out\n0,10,3\nabc,10,3\n2,10,3\n").find(":3: ts is 'abc'") !=
        std::string::npos);
  // A column of texts is none of counts, whatever its name.
  CHECK(read("ts,prompt,input,output\n0,why,10,3\n1,how,20,4\n").rows[1].prompt_tokens == 20);
}

TEST_CASE("wrong cells do not hide a column whose other cells are right", "[workloads]") {
  CHECK(error_of("ts,prompt,completion\n0,5,2\n1,x,2\n2,-5,2\n").find(":3: prompt is 'x'") !=
        std::string::npos);
  // Texts are no counts, whichever of them may be read as one.
  CHECK(error_of("ts,prompt,completion_tokens\n0,how far is the moon,3\n1,what is this,3\n2,5,4\n")
            .find("no column holds the tokens of prompts") != std::string::npos);
}

TEST_CASE("one row decades away from all others is a warning that names it", "[workloads]") {
  std::string rows = "ts,in,out\n";
  for (int i = 0; i < 6; ++i) rows += std::to_string(1'772'355'600 + i) + ",10,3\n";
  CHECK(read(rows).warning.find("makes no sense") == std::string::npos);
  // 1 s after 1970 and 2026: 1,772,355,599 s are 56.2 years.
  const std::string early = read(rows + "1,10,3\n").warning;
  CHECK(early.find("56.2 years") != std::string::npos);
  CHECK(early.find("without a request") != std::string::npos);
  const std::string late = read(rows + "4772355600,10,3\n").warning;
  CHECK(late.find("without a request") != std::string::npos);
  // A month's pause in a trace of a month is no slip.
  CHECK(read(rows + "1774947600,10,3\n").warning.find("without a request") == std::string::npos);
}

}  // namespace
}  // namespace headroom::table_trace_test
