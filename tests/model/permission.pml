/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks of a persistent sweep stop, src/solve/stencil/cuda/persistent/persistent.cuh, for Spin; run.py runs it.
 *
 * Two blocks sweep; each sweep has a norm and needs the other block's edge of the sweep before. A block
 * sends its part of a norm when it has done the sweep; then it asks for permission for the next. The
 * reducing block takes the parts of one sweep after the other, and permits sweeps up to the second
 * after that one, or stops the run there. A block that is told so has the result in its cells, or as what it
 * kept in the sweep before: it knows by whether the sweep that the run stops with is even or odd.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          2, for the blocks; the sweeps of the launch
 * and, one at a time, what must be found wrong:
 *   ONE_SLOT               one place for a block's part instead of two
 *   READ_BEFORE_WAIT       parts are read without a look at their sweeps
 *   PERMITS_MORE           one sweep more is permitted
 *   ALWAYS_KEPT            the result is always taken for what was kept
 *   NEVER_KEPT             the result is always taken for what is in the cells
 */

#ifdef ONE_SLOT
#define SLOTS 1
#else
#define SLOTS 2
#endif
#define SLOT(block, sweep) ((block) * SLOTS + (sweep) % SLOTS)

#ifdef PERMITS_MORE
#define AHEAD 3
#else
#define AHEAD 2
#endif

byte stop_after;             /* the sweep whose norm stops the run; SWEEPS: none does */
byte epoch_held[2 * SLOTS];  /* of which sweep the part is that stands there, from 1 */
bool is_unread[2 * SLOTS];
byte edges[2];               /* sweeps done */
byte permitted;
bool stops;                  /* the word: how far, whether the run stops, and with which kind of sweep */
byte parity;

#ifdef READ_BEFORE_WAIT
#define HAS_COME(block, sweep) true
#else
#define HAS_COME(block, sweep) (epoch_held[SLOT(block, sweep)] == (sweep) + 1)
#endif

inline read(block, sweep) {
  d_step {
    HAS_COME(block, sweep) ->
    assert(epoch_held[SLOT(block, sweep)] == (sweep) + 1);
    is_unread[SLOT(block, sweep)] = false
  }
}

proctype Reducer() {
  byte sweep;
  permitted = 1;
  for (sweep : 0 .. SWEEPS - 2) {
    read(0, sweep);
    read(1, sweep);
    d_step {
      if
      :: sweep == stop_after -> permitted = SWEEPS; stops = true; parity = sweep % 2
      :: else -> permitted = (sweep + AHEAD < SWEEPS -> sweep + AHEAD : SWEEPS)
      fi
    }
    if
    :: stops -> break
    :: else
    fi
  }
}

#if defined(ALWAYS_KEPT)
#define IS_KEPT true
#elif defined(NEVER_KEPT)
#define IS_KEPT false
#else
#define IS_KEPT (parity == sweep % 2)
#endif

/* `cells` and `kept`: after how many sweeps. */
proctype Block(byte me) {
  byte sweep, cells, kept, counted;
  do
  :: atomic {
       permitted >= sweep ->
       if
       :: stops ->
          counted = (IS_KEPT -> kept : cells);
          assert(counted == stop_after + 1);
          break
       :: !stops && sweep == SWEEPS -> break
       :: else
       fi
     }
     kept = cells;
     edges[1 - me] >= sweep;
     cells = sweep + 1;
     edges[me] = cells;
     d_step {
       if
       :: cells < SWEEPS ->
          assert(!is_unread[SLOT(me, sweep)]);
          epoch_held[SLOT(me, sweep)] = cells;
          is_unread[SLOT(me, sweep)] = true
       :: else
       fi
     }
     sweep++
  od
}

init {
  select(stop_after : 0 .. SWEEPS);
  atomic {
    run Reducer();
    run Block(0);
    run Block(1)
  }
}
