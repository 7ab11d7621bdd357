/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce of norms on GPUs, src/core/device/all_reduce_port.hpp, for Spin; run.py runs it.
 *
 * A rank sends its numbers of reduction n, one or those of a pass of several sweeps, waits for all
 * others' and reads them; only then it sends those of reduction n + 1 (stencil/cuda/reduce.cuh). Stores
 * land some time after they were made, in any order. A number says of which reduction it is, in each of
 * its words: see edges.pml.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          size; SWEEPS is the number of reductions
 *   NUMBERS                of most reductions; each third one has one
 * and, one at a time, what must be found wrong:
 *   SEND_BEFORE_READ       the next numbers are sent before those of the reduction before are read
 *   ONE_PLACE              one place for each rank's numbers instead of two
 *   READ_BEFORE_WAIT       numbers are read without a look at their reductions
 *   LOOK_AT_FIRST          all numbers of a rank are read once the first has come
 */

#ifdef ONE_PLACE
#define PLACES 1
#else
#define PLACES 2
#endif

#define OF_LINK (PLACES * NUMBERS)
#define LINK(from, to) ((from) * RANKS + (to))
#define ALL (RANKS * RANKS * OF_LINK)
#define WORD(link, reduction, number) ((link) * OF_LINK + (reduction) % PLACES * NUMBERS + (number))
#define COUNT(reduction) ((reduction) % 3 == 0 -> 1 : NUMBERS)

/* A receiver's memory: of which reduction the number is that stands there. */
byte epoch_held[ALL];
bool is_unread[ALL];

/* Stores made that have not landed. */
byte epoch_on_way[ALL];

inline land(word) {
  assert(!is_unread[word]);
  epoch_held[word] = epoch_on_way[word];
  is_unread[word] = true;
  epoch_on_way[word] = 0
}

proctype Wire(byte link) {
end:
  do
  :: d_step { epoch_on_way[link * OF_LINK] != 0 -> land(link * OF_LINK) }
#if OF_LINK > 1
  :: d_step { epoch_on_way[link * OF_LINK + 1] != 0 -> land(link * OF_LINK + 1) }
#endif
#if OF_LINK > 2
  :: d_step { epoch_on_way[link * OF_LINK + 2] != 0 -> land(link * OF_LINK + 2) }
  :: d_step { epoch_on_way[link * OF_LINK + 3] != 0 -> land(link * OF_LINK + 3) }
#endif
  od
}

inline send(reduction) {
  d_step {
    for (peer : 0 .. RANKS - 1) {
      if
      :: peer != me ->
         for (number : 0 .. COUNT(reduction) - 1) {
           assert(epoch_on_way[WORD(LINK(me, peer), reduction, number)] == 0);
           epoch_on_way[WORD(LINK(me, peer), reduction, number)] = reduction
         }
      :: else
      fi
    }
    peer = 0;
    number = 0
  }
}

#ifdef READ_BEFORE_WAIT
#define HAS_COME(from, reduction, number) true
#elif defined(LOOK_AT_FIRST)
#define HAS_COME(from, reduction, number) \
  (epoch_held[WORD(LINK(from, me), reduction, 0)] == (reduction))
#else
#define HAS_COME(from, reduction, number) \
  (epoch_held[WORD(LINK(from, me), reduction, number)] == (reduction))
#endif

/* All at once, for they are joined in the order of ranks when all have come. */
inline reduce(reduction) {
  for (peer : 0 .. RANKS - 1) {
    for (number : 0 .. COUNT(reduction) - 1) {
      peer == me || HAS_COME(peer, reduction, number)
    }
  }
  for (peer : 0 .. RANKS - 1) {
    d_step {
      if
      :: peer != me ->
         for (number : 0 .. COUNT(reduction) - 1) {
           assert(epoch_held[WORD(LINK(peer, me), reduction, number)] == (reduction));
           is_unread[WORD(LINK(peer, me), reduction, number)] = false
         }
      :: else
      fi
    }
  }
  peer = 0;
  number = 0
}

proctype Rank(byte me) {
  byte peer, n, number;
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
