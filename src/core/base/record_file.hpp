// SPDX-License-Identifier: Apache-2.0
#pragma once
// A JSON file with a list of records that several programs read, and add to, at the same time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace halocline {

using Json = nlohmann::ordered_json;

/// What a file of such records says of itself.
struct RecordFormat {
  const char* format;  ///< "halocline proofs"
  int version;
  const char* list;  ///< the key of the records, and what a text calls them: "proofs"
};

struct RecordFile {
  std::vector<Json> records;
  std::string wrong;      ///< in words; empty if all was understood
  bool is_other = false;  ///< it is no file of such records
};

/// Reads a file; no records if there is no such file.
RecordFile read_records(const std::string& path, const RecordFormat& format);

/// Whether a file of another kind may be replaced: in our own cache, not under a name that somebody
/// gave.
enum class OtherFile { replace, keep };

/// Replaces the records of a file by what `change` makes of those there, all at once, while other
/// writers wait. Throws what writing a file throws, and usage for a file of another kind that is
/// kept.
void change_records(const std::string& path, const RecordFormat& format, OtherFile other,
                    const std::function<std::vector<Json>(const RecordFile&)>& change);

/// Translates records by `from_json`, which throws for what it does not understand; how many these
/// are is added to `file.wrong`.
template <class Record>
std::vector<Record> understood(RecordFile& file, const RecordFormat& format,
                               Record (*from_json)(const Json&)) {
  std::vector<Record> records;
  for (const Json& json : file.records) {
    try {
      records.push_back(from_json(json));
    } catch (const std::exception&) {
      // Told once, below.
    }
  }
  if (records.size() < file.records.size())
    file.wrong = std::to_string(file.records.size() - records.size()) + " of its " +
                 std::to_string(file.records.size()) + " " + format.list + " are not understood";
  return records;
}

}  // namespace halocline
