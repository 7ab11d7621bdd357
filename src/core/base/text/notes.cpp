// SPDX-License-Identifier: Apache-2.0
#include "base/text/notes.hpp"

#include <algorithm>

namespace halocline {

void Notes::add(const std::string& text) {
  if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(text);
}

}  // namespace halocline
