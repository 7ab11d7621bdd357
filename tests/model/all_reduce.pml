/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce of norms on GPUs, src/core/device/all_reduce_port.hpp, for Spin; run.py runs it.
 *
 * A rank sends its number of reduction n, waits for all others' and reads them; only then it sends that
 * of reduction n + 1 (stencil/cuda/reduce.cuh). Stores land some time after they were made,
 * in any order. A number says of which reduction it is, in each of its words: see edges.pml.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          size; SWEEPS is the number of reductions
 * and, one at a time, what must be found wrong:
 *   SEND_BEFORE_READ       the next number is sent before those of the reduction before are read
 *   ONE_PLACE              one place for each rank's number instead of two
 *   READ_BEFORE_WAIT       numbers are read without a look at their reductions
 */

#ifdef ONE_PLACE
#define PLACES 1
#else
#define PLACES 2
#endif

#define LINK(from, to) ((from) * RANKS + (to))
#define LINKS (RANKS * RANKS)
#define PLACE(link, reduction) ((link) * PLACES + (reduction) % PLACES)

/* A receiver's memory: of which reduction the number is that stands there. */
byte epoch_held[LINKS * PLACES];
bool is_unread[LINKS * PLACES];

/* Stores made that have not landed. */
byte epoch_on_way[LINKS * PLACES];

inline land(place) {
  assert(!is_unread[place]);
  epoch_held[place] = epoch_on_way[place];
  is_unread[place] = true;
  epoch_on_way[place] = 0
}

proctype Wire(byte link) {
end:
  do
  :: d_step { epoch_on_way[PLACE(link, 0)] != 0 -> land(PLACE(link, 0)) }
#ifndef ONE_PLACE
  :: d_step { epoch_on_way[PLACE(link, 1)] != 0 -> land(PLACE(link, 1)) }
#endif
  od
}

inline send(reduction) {
  d_step {
    for (peer : 0 .. RANKS - 1) {
      if
      :: peer != me ->
         assert(epoch_on_way[PLACE(LINK(me, peer), reduction)] == 0);
         epoch_on_way[PLACE(LINK(me, peer), reduction)] = reduction
      :: else
      fi
    }
    peer = 0
  }
}

#ifdef READ_BEFORE_WAIT
#define HAS_COME(from, reduction) true
#else
#define HAS_COME(from, reduction) (epoch_held[PLACE(LINK(from, me), reduction)] == (reduction))
#endif

/* All at once, for they are joined in the order of ranks when all have come. */
inline reduce(reduction) {
  for (peer : 0 .. RANKS - 1) {
    peer == me || HAS_COME(peer, reduction)
  }
  for (peer : 0 .. RANKS - 1) {
    d_step {
      if
      :: peer != me ->
         assert(epoch_held[PLACE(LINK(peer, me), reduction)] == (reduction));
         is_unread[PLACE(LINK(peer, me), reduction)] = false
      :: else
      fi
    }
  }
  peer = 0
}

proctype Rank(byte me) {
  byte peer, n;
  send(1);
  for (n : 2 .. SWEEPS) {
#ifdef SEND_BEFORE_READ
    send(n);
    reduce(n - 1)
#else
    reduce(n - 1);
    send(n)
#endif
  }
  reduce(SWEEPS)
}

init {
  byte from, to;
  atomic {
    for (from : 0 .. RANKS - 1) {
      for (to : 0 .. RANKS - 1) {
        if
        :: from != to -> run Wire(LINK(from, to))
        :: else
        fi
      }
    }
    for (from : 0 .. RANKS - 1) { run Rank(from) }
  }
}
