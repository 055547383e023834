#include "hardware/llm/gguf_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"
#include "sim/kernel/folders.hpp"

namespace headroom {
namespace {

constexpr std::uint64_t kMostTensors = 1'000'000;
constexpr std::uint64_t kMostKeys = 100'000;
constexpr std::uint64_t kLongestName = 65'535;
constexpr std::uint64_t kLongestText = std::uint64_t{64} << 20;
constexpr std::size_t kMostKept = 65'536;  // entries of a list; vocabularies are skipped
constexpr std::int64_t kMostElements = std::int64_t{1} << 46;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // of all tensors of a file
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::uint64_t kMostAlignment = 1 << 20;

// Elements and bytes of a block. The nearest type that prices are known for.
struct TensorType {
  std::uint32_t code;
  std::string_view name;
  std::int32_t elements;
  std::int32_t bytes;
  Dtype nearest;
};
constexpr std::array<TensorType, 34> kTensorTypes{{
    {0, "F32", 1, 4, Dtype::fp32},           {1, "F16", 1, 2, Dtype::fp16},
    {2, "Q4_0", 32, 18, Dtype::q4_0},        {3, "Q4_1", 32, 20, Dtype::q4_1},
    {6, "Q5_0", 32, 22, Dtype::q5_0},        {7, "Q5_1", 32, 24, Dtype::q5_1},
    {8, "Q8_0", 32, 34, Dtype::q8_0},        {9, "Q8_1", 32, 40, Dtype::q8_0},
    {10, "Q2_K", 256, 84, Dtype::q2_k},      {11, "Q3_K", 256, 110, Dtype::q3_k_m},
    {12, "Q4_K", 256, 144, Dtype::q4_k_m},   {13, "Q5_K", 256, 176, Dtype::q5_k_m},
    {14, "Q6_K", 256, 210, Dtype::q6_k},     {15, "Q8_K", 256, 292, Dtype::q8_0},
    {16, "IQ2_XXS", 256, 66, Dtype::q2_k},   {17, "IQ2_XS", 256, 74, Dtype::q2_k},
    {18, "IQ3_XXS", 256, 98, Dtype::q3_k_m}, {19, "IQ1_S", 256, 50, Dtype::q2_k},
    {20, "IQ4_NL", 32, 18, Dtype::iq4_nl},   {21, "IQ3_S", 256, 110, Dtype::q3_k_m},
    {22, "IQ2_S", 256, 82, Dtype::q2_k},     {23, "IQ4_XS", 256, 136, Dtype::iq4_nl},
    {24, "I8", 1, 1, Dtype::int8},           {25, "I16", 1, 2, Dtype::fp16},
    {26, "I32", 1, 4, Dtype::fp32},          {27, "I64", 1, 8, Dtype::fp32},
    {28, "F64", 1, 8, Dtype::fp32},          {29, "IQ1_M", 256, 56, Dtype::q2_k},
    {30, "BF16", 1, 2, Dtype::bf16},         {34, "TQ1_0", 256, 54, Dtype::q2_k},
    {35, "TQ2_0", 256, 66, Dtype::q2_k},     {39, "MXFP4", 32, 17, Dtype::mxfp4},
    {40, "NVFP4", 64, 36, Dtype::nvfp4},     {41, "Q1_0", 128, 18, Dtype::q2_k},
}};

// Kinds of metadata values, by their code.
enum class ValueKind : std::uint8_t { integer, real, text, list, unknown };
struct ValueType {
  ValueKind kind = ValueKind::unknown;
  std::uint64_t bytes = 0;
  bool is_signed = false;
};

ValueType value_type(std::uint32_t code) {
  constexpr std::array<ValueType, 13> kTypes{{{ValueKind::integer, 1, false},
                                              {ValueKind::integer, 1, true},
                                              {ValueKind::integer, 2, false},
                                              {ValueKind::integer, 2, true},
                                              {ValueKind::integer, 4, false},
                                              {ValueKind::integer, 4, true},
                                              {ValueKind::real, 4, true},
                                              {ValueKind::integer, 1, false},
                                              {ValueKind::text, 0, false},
                                              {ValueKind::list, 0, false},
                                              {ValueKind::integer, 8, false},
                                              {ValueKind::integer, 8, true},
                                              {ValueKind::real, 8, true}}};
  return code < kTypes.size() ? kTypes[code] : ValueType{};
}

// "NAME-00002-of-00003.gguf" as NAME, 2 and 3.
struct SplitName {
  std::string stem;
  int number = 0;
  int count = 0;
};

std::optional<SplitName> split_name(const std::string& name) {
  constexpr std::size_t kTail = 20;  // "-00002-of-00003.gguf"
  if (name.size() <= kTail || !name.ends_with(".gguf")) return std::nullopt;
  const std::string tail = name.substr(name.size() - kTail);
  const auto number = [&](std::size_t at) {
    int value = 0;
    for (std::size_t i = at; i < at + 5; ++i) {
      if (tail[i] < '0' || tail[i] > '9') return -1;
      value = 10 * value + (tail[i] - '0');
    }
    return value;
  };
  SplitName split{name.substr(0, name.size() - kTail), number(1), number(10)};
  const bool is_split = tail[0] == '-' && tail.substr(6, 4) == "-of-" && split.number >= 1 &&
                        split.count >= split.number;
  return is_split ? std::optional(split) : std::nullopt;
}

}  // namespace

class GgufReader {
 public:
  GgufReader(const std::filesystem::path& path, GgufHeader& header)
      : file_(path.string()), in_(path, std::ios::binary), header_(header) {
    note_input(file_);
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (!in_ || failed) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::unreadable, .origin = file_, .problem = "cannot be opened as a file"});
    }
    size_ = size;
  }

  void read() {
    std::array<char, 4> magic{};
    bytes(magic.data(), magic.size());
    if (std::string_view(magic.data(), magic.size()) != "GGUF") {
      throw error(0, "no GGUF file: the first four bytes have to be GGUF");
    }
    const auto version = static_cast<std::uint32_t>(unsigned_of(4));
    if (version != 2 && version != 3) {
      throw error(4, version > 0xffff ? "a file of big-endian numbers: only little-endian is read"
                                      : fmt::format("version {}: only 2 and 3 are read", version));
    }
    const std::uint64_t tensors = count("tensors", kMostTensors, 24);
    const std::uint64_t keys = count("metadata keys", kMostKeys, 13);
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    check_data();
  }

 private:
  [[nodiscard]] ConfigError error(std::uint64_t offset, std::string problem) const {
    return ConfigError(
        Complaint{.origin = file_, .problem = fmt::format("byte {}: {}", offset, problem)});
  }

  void need(std::uint64_t wanted) const {
    if (wanted <= size_ - at_) return;
    throw error(at_, fmt::format("cut off: {} more bytes are needed, the file ends at byte {}",
                                 wanted, size_));
  }

  void bytes(char* to, std::uint64_t wanted) {
    need(wanted);
    in_.read(to, static_cast<std::streamsize>(wanted));
    if (!in_) throw error(at_, "cannot be read");
    at_ += wanted;
  }

  void skip(std::uint64_t wanted) {
    need(wanted);
    in_.seekg(static_cast<std::streamoff>(wanted), std::ios::cur);
    at_ += wanted;
  }

  // Little-endian, whatever this machine's order.
  std::uint64_t unsigned_of(std::uint64_t width) {
    std::array<char, 8> raw{};
    bytes(raw.data(), width);
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    }
    return value;
  }

  // Beyond 2^63 the largest number: no size of a model.
  std::int64_t integer_of(const ValueType& type) {
    const std::uint64_t raw = unsigned_of(type.bytes);
    if (!type.is_signed) {
      constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
      return raw > static_cast<std::uint64_t>(kLargest) ? kLargest : static_cast<std::int64_t>(raw);
    }
    const auto unused = static_cast<int>(64 - 8 * type.bytes);
    return std::bit_cast<std::int64_t>(raw << unused) >> unused;
  }

  // A count whose entries take at least `least_bytes` each, so that none is believed that the file
  // has no room for.
  std::uint64_t count(std::string_view what, std::uint64_t most, std::uint64_t least_bytes) {
    const std::uint64_t from = at_;
    const std::uint64_t n = unsigned_of(8);
    if (n > most) throw error(from, fmt::format("{} {}: at most {}", n, what, most));
    if (n > (size_ - at_) / least_bytes) {
      throw error(from, fmt::format("{} {} do not fit in a file of {} bytes", n, what, size_));
    }
    return n;
  }

  std::string text(std::string_view what, std::uint64_t longest) {
    const std::uint64_t length = count(what, longest, 1);
    std::string value(length, '\0');
    bytes(value.data(), length);
    return value;
  }

  void read_key() {
    const std::string key = text("characters of a key", kLongestName);
    const std::uint64_t from = at_;
    const auto code = static_cast<std::uint32_t>(unsigned_of(4));
    const ValueType type = value_type(code);
    switch (type.kind) {
      case ValueKind::integer: header_.integers_[key] = {integer_of(type)}; return;
      case ValueKind::real: skip(type.bytes); return;
      case ValueKind::text: header_.texts_[key] = text("characters", kLongestText); return;
      case ValueKind::list: read_list(key); return;
      case ValueKind::unknown: break;
    }
    throw error(from, fmt::format("type {} of {}: 0 to 12", code, key));
  }

  void read_list(const std::string& key) {
    const std::uint64_t from = at_;
    const auto code = static_cast<std::uint32_t>(unsigned_of(4));
    const ValueType type = value_type(code);
    if (type.kind == ValueKind::unknown || type.kind == ValueKind::list) {
      throw error(from, fmt::format("type {} in the list {}: 0 to 12 without 9", code, key));
    }
    const std::uint64_t least = type.kind == ValueKind::text ? 8 : type.bytes;
    const std::uint64_t entries = count("entries", size_, least);
    if (type.kind == ValueKind::text) {
      for (std::uint64_t i = 0; i < entries; ++i) skip(count("characters", kLongestText, 1));
    } else if (type.kind == ValueKind::real || entries > kMostKept) {
      skip(entries * type.bytes);
    } else {
      std::vector<std::int64_t>& list = header_.integers_[key];
      list.clear();
      for (std::uint64_t i = 0; i < entries; ++i) list.push_back(integer_of(type));
    }
  }

  void read_tensor() {
    GgufTensor tensor;
    tensor.name = text("characters of a tensor's name", kLongestName);
    std::uint64_t from = at_;
    const std::uint64_t dimensions = unsigned_of(4);
    if (dimensions < 1 || dimensions > 4) {
      throw error(from, fmt::format("{} dimensions of {}: 1 to 4", dimensions, tensor.name));
    }
    tensor.elements = 1;
    for (std::uint64_t i = 0; i < dimensions; ++i) {
      from = at_;
      const std::uint64_t size = unsigned_of(8);
      if (size < 1 || size > static_cast<std::uint64_t>(kMostElements / tensor.elements)) {
        throw error(from, fmt::format("size {} of {}: at least 1 and 2^46 elements in all", size,
                                      tensor.name));
      }
      tensor.shape.push_back(static_cast<std::int64_t>(size));
      tensor.elements *= static_cast<std::int64_t>(size);
    }
    from = at_;
    read_type(tensor);
    bytes_ += tensor.bytes;
    if (bytes_ > kMostBytes) {
      throw error(from,
                  fmt::format("{} bytes of weights with {}: at most 2^50", bytes_, tensor.name));
    }
    const std::uint64_t offset = unsigned_of(8);
    const auto bytes = static_cast<std::uint64_t>(tensor.bytes);
    constexpr std::uint64_t kFarthest = std::uint64_t{1} << 60;
    if (offset > kFarthest) {
      throw error(at_ - 8, fmt::format("{} begins at byte {} of the weights: at most 2^60",
                                       tensor.name, offset));
    }
    if (offset + bytes > data_end_) {
      data_end_ = offset + bytes;
      last_ = tensor.name;
    }
    header_.tensors_.push_back(std::move(tensor));
  }

  void read_type(GgufTensor& tensor) {
    const std::uint64_t from = at_;
    const auto code = static_cast<std::uint32_t>(unsigned_of(4));
    const auto* const type = std::ranges::find(kTensorTypes, code, &TensorType::code);
    if (type == kTensorTypes.end()) {
      throw error(from, fmt::format("type {} of {}: no type of tensors that is known (0 to 41 "
                                    "without those that were removed)",
                                    code, tensor.name));
    }
    if (tensor.shape.front() % type->elements != 0) {
      throw error(from, fmt::format("rows of {} in {}: {} have whole blocks of {} elements",
                                    tensor.shape.front(), tensor.name, type->name, type->elements));
    }
    tensor.bytes = tensor.elements / type->elements * type->bytes;
    tensor.format = format_of(type->nearest);
    const WeightFormat plain{type->nearest, 0, 0};
    const std::int64_t row = stored_bytes(plain, type->elements) * 8;
    tensor.format.group = type->elements == 1 ? 0 : type->elements;
    tensor.format.group_bits =
        type->elements == 1 ? 0 : static_cast<std::int32_t>(type->bytes * 8 - row);
  }

  void check_data() {
    const auto found = header_.integers_.find("general.alignment");
    std::uint64_t alignment = 32;
    if (found != header_.integers_.end() && !found->second.empty()) {
      const std::int64_t stated = found->second.front();
      const bool valid = stated > 0 && static_cast<std::uint64_t>(stated) <= kMostAlignment &&
                         std::has_single_bit(static_cast<std::uint64_t>(stated));
      if (!valid) {
        throw error(at_, fmt::format("general.alignment {}: a power of 2 up to 2^20", stated));
      }
      alignment = static_cast<std::uint64_t>(stated);
    }
    const std::uint64_t begin = (at_ + alignment - 1) / alignment * alignment;
    if (size_ <= begin) {
      header_.header_only_ = !header_.tensors_.empty();
      return;
    }
    if (begin + data_end_ > size_) {
      throw error(size_, fmt::format("cut off: {} reaches to byte {}", last_, begin + data_end_));
    }
  }

  std::string file_;
  std::ifstream in_;
  GgufHeader& header_;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
  std::int64_t bytes_ = 0;      // of the tensors so far
  std::uint64_t data_end_ = 0;  // of the last tensor, from the begin of the weights
  std::string last_;
};

GgufHeader GgufHeader::read(const std::filesystem::path& path) {
  GgufHeader header;
  header.file_ = path.string();
  std::vector<std::filesystem::path> parts{path};
  if (const auto split = split_name(path.filename().string()); split && split->count > 1) {
    parts.clear();
    std::vector<std::string> missing;
    for (int i = 1; i <= split->count; ++i) {
      const std::string name = fmt::format("{}-{:05}-of-{:05}.gguf", split->stem, i, split->count);
      parts.push_back(path.parent_path() / name);
      if (!is_there(parts.back())) missing.push_back(name);
    }
    if (!missing.empty()) {
      missing.resize(std::min<std::size_t>(missing.size(), 8));
      throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                  .origin = header.file_,
                                  .problem = fmt::format("a model in {} parts, of which these are "
                                                         "not there: {}",
                                                         split->count, fmt::join(missing, ", "))});
    }
  }
  for (const std::filesystem::path& part : parts) GgufReader(part, header).read();
  const auto name = header.texts_.find("general.architecture");
  if (name == header.texts_.end() || name->second.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = header.file_,
                                .problem = "general.architecture is missing: no language model"});
  }
  header.architecture_ = name->second;
  return header;
}

std::optional<std::int64_t> GgufHeader::value_of(std::string_view key, std::size_t index,
                                                 std::int64_t least) const {
  const auto found = integers_.find(fmt::format("{}.{}", architecture_, key));
  if (found == integers_.end()) return std::nullopt;
  const std::vector<std::int64_t>& values = found->second;
  if (values.size() == 1) index = 0;
  if (index >= values.size()) return std::nullopt;
  if (values[index] < least || values[index] > kLargestSize) {
    throw error(key, fmt::format("{}: {} to 2^31", values[index], least));
  }
  return values[index];
}

std::optional<std::int64_t> GgufHeader::find_integer(std::string_view key,
                                                     std::size_t index) const {
  return value_of(key, index, 0);
}

bool GgufHeader::is_list(std::string_view key) const {
  const auto found = integers_.find(fmt::format("{}.{}", architecture_, key));
  return found != integers_.end() && found->second.size() > 1;
}

ConfigError GgufHeader::error(std::string_view key, std::string_view problem) const {
  return ConfigError(
      Complaint{.origin = file_, .problem = fmt::format("{}.{}: {}", architecture_, key, problem)});
}

std::int64_t GgufHeader::integer(std::string_view key, std::size_t index) const {
  const std::optional<std::int64_t> value = value_of(key, index, 1);
  if (!value) throw error(key, "missing");
  return *value;
}

}  // namespace headroom
