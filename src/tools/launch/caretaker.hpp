// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tidies up after a process that no launcher started.

#include <sys/types.h>

#include "base/descriptor.hpp"
#include "base/variables.hpp"

namespace halocline {

/// Should this process end while it lives, by whatever signal, a process of its own removes the
/// folders that Open MPI then leaves of it. To be made before MPI is started, and to be destroyed
/// after its end.
class Caretaker {
 public:
  explicit Caretaker(const Variables& variables);
  ~Caretaker();
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;

 private:
  Descriptor while_alive_;
  pid_t process_ = -1;
};

}  // namespace halocline
