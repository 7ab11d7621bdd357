#pragma once
// Kinds of memory.

namespace halocline {

/// Where bytes live: ordinary host memory; host memory pinned for a GPU; a GPU's own; memory
/// that the driver migrates; ordinary memory that a GPU may read too.
enum class Memory { host, pinned, device, managed, system };

}  // namespace halocline
