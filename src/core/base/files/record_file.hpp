// SPDX-License-Identifier: Apache-2.0
#pragma once
// A JSON file with a list of records, which several programs may read and extend at the same time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/text/json_text.hpp"

namespace halocline {

/// The header of a file of such records.
struct RecordFormat {
  const char* format;  ///< "halocline proofs"
  int version;
  const char* list;  ///< the key of the records, and their name in texts: "proofs"
};

struct RecordFile {
  std::vector<Json> records;
  std::string wrong;      ///< the problem; empty if there was none
  bool is_other = false;  ///< it is not a file of such records
};

/// Reads a file; returns no records if it does not exist.
RecordFile read_records(const std::string& path, const RecordFormat& format);

/// Whether a file of another kind may be replaced: yes in our own cache, no if the user named it.
enum class OtherFile { replace, keep };

/// Replaces the records of a file with the result of `change` in one step, while other writers
/// wait. Throws as write_text_file() does, and usage for a file of another kind that must be kept.
void change_records(const std::string& path, const RecordFormat& format, OtherFile other,
                    const std::function<std::vector<Json>(const RecordFile&)>& change);

/// Converts records with `from_json`, which throws for invalid ones; skips these and adds their
/// number to `file.wrong`.
template <class Record>
std::vector<Record> understood(RecordFile& file, const RecordFormat& format,
                               Record (*from_json)(const Json&)) {
  std::vector<Record> records;
  for (const Json& json : file.records) {
    try {
      records.push_back(from_json(json));
    } catch (const std::exception&) {
      // Reported once, below.
    }
  }
  if (records.size() < file.records.size())
    file.wrong = std::to_string(file.records.size() - records.size()) + " of its " +
                 std::to_string(file.records.size()) + " " + format.list + " are not valid";
  return records;
}

}  // namespace halocline
