/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges between GPUs with a flag for each chunk, src/core/device/port.hpp, for Spin; run.py runs it.
 *
 * One kernel an epoch packs, tells, waits and unpacks (pack/cuda/copies.cu): each of its blocks
 * stores a chunk into the neighbour's slot and raises the chunk's flag, then waits for the flag of a
 * chunk of its own and reads that. Blocks go on at any speed; kernels follow each other in their
 * stream. Two ranks; rank 0 sends two chunks, and rank 1 as many, or a bare signal.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          2; the epochs
 * and, one at a time, what must be found wrong:
 *   FLAG_OVERTAKES_DATA    release does not hold back the flag for the chunk stored before it
 *   READ_BEFORE_WAIT       a block reads without a look at the flag
 *   ONE_WINDOW             one slot instead of two
 *   BLOCKS_RUN_AHEAD       a block begins the next epoch before the others have ended the last
 *   LAST_FLAG_MISSING      nobody raises the last chunk's flag
 */

#ifdef ONE_WINDOW
#define WINDOWS 1
#else
#define WINDOWS 2
#endif

#define CHUNKS 2
#define CHUNK(from, number) ((from) * CHUNKS + (number))
#define SLOT(chunk, epoch) ((chunk) * WINDOWS + (epoch) % WINDOWS)

byte chunks_of[2]; /* that each rank sends, a bare signal too */
bool has_data[2];

/* A receiver's memory. */
byte epoch_held[2 * CHUNKS * WINDOWS];
bool is_unread[2 * CHUNKS * WINDOWS];
byte flag[2 * CHUNKS];

/* Stores made that have not landed. */
byte epoch_on_way[2 * CHUNKS * WINDOWS];
byte raised[2 * CHUNKS];

byte ended[2 * CHUNKS]; /* epochs, by each block of each rank */

inline land(slot) {
  assert(!is_unread[slot]);
  epoch_held[slot] = epoch_on_way[slot];
  is_unread[slot] = true;
  epoch_on_way[slot] = 0
}

#ifdef FLAG_OVERTAKES_DATA
#define MAY_LAND(chunk, epoch) true
#else
#define MAY_LAND(chunk, epoch) (epoch_on_way[SLOT(chunk, epoch)] != (epoch))
#endif

proctype Wire(byte chunk) {
end:
  do
  :: d_step { epoch_on_way[SLOT(chunk, 0)] != 0 -> land(SLOT(chunk, 0)) }
#ifndef ONE_WINDOW
  :: d_step { epoch_on_way[SLOT(chunk, 1)] != 0 -> land(SLOT(chunk, 1)) }
#endif
  :: d_step { flag[chunk] < raised[chunk] && MAY_LAND(chunk, flag[chunk] + 1) -> flag[chunk]++ }
  od
}

inline store() {
  d_step {
    if
    :: has_data[me] ->
       assert(epoch_on_way[SLOT(out, epoch)] == 0);
       epoch_on_way[SLOT(out, epoch)] = epoch
    :: else
    fi
  }
}

inline raise() {
#ifdef LAST_FLAG_MISSING
  if
  :: number < chunks_of[me] - 1 -> raised[out] = epoch
  :: else
  fi
#else
  raised[out] = epoch
#endif
}

inline check_slot() {
  assert(!has_data[1 - me] || epoch_held[SLOT(in, epoch)] == epoch)
}

#ifdef READ_BEFORE_WAIT
#define HAS_COME true
#else
#define HAS_COME (flag[in] >= epoch)
#endif

#ifdef BLOCKS_RUN_AHEAD
#define MAY_BEGIN true
#else
#define MAY_BEGIN (ended[CHUNK(me, 0)] >= epoch - 1 && ended[CHUNK(me, 1)] >= epoch - 1)
#endif

proctype Block(byte me; byte number) {
  byte epoch, out, in;
  out = CHUNK(me, number);
  in = CHUNK(1 - me, number);
  for (epoch : 1 .. SWEEPS) {
    MAY_BEGIN;
    if
    :: number < chunks_of[me] ->
       store();
       raise()
    :: else
    fi;
    if
    :: number < chunks_of[1 - me] ->
       HAS_COME;
       check_slot();
       d_step { check_slot(); is_unread[SLOT(in, epoch)] = false }
    :: else
    fi;
    ended[out] = epoch
  }
}

init {
  byte number;
  atomic {
    chunks_of[0] = CHUNKS;
    has_data[0] = true;
    if
    :: chunks_of[1] = CHUNKS; has_data[1] = true
    :: chunks_of[1] = 1 /* one-sided halos */
    fi;
    for (number : 0 .. CHUNKS - 1) {
      run Wire(CHUNK(0, number));
      run Wire(CHUNK(1, number));
      run Block(0, number);
      run Block(1, number)
    }
  }
}
