/* SPDX-License-Identifier: Apache-2.0 */
/* Edges as words that carry their epoch, src/core/device/edge_port.hpp, for Spin; run.py runs it.
 *
 * Two threads of neighbouring tiles. In each sweep a thread stores the words of its edge, which land
 * in any order, and waits for those of the other's: for each until it is of the epoch wanted. There
 * are no flags and no fences.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          2; the epochs
 * and, one at a time, what must be found wrong:
 *   ONE_WINDOW             one slot instead of two
 *   READ_BEFORE_WAIT       words are read without a look at their epochs
 *   ONE_LOOK               the epoch of the first word is taken for that of all
 *   ONE_WAY                a thread goes on without the other's edge
 *   SENDS_AFTER_STOP       a launch after the run's last sweep sends its first edge all the same
 */

#ifdef ONE_WINDOW
#define WINDOWS 1
#else
#define WINDOWS 2
#endif

#define WORDS 2
#define SLOT(from, word, epoch) (((from) * WORDS + (word)) * WINDOWS + (epoch) % WINDOWS)

/* A receiver's memory, by who sends. */
byte epoch_held[2 * WORDS * WINDOWS];
bool is_unread[2 * WORDS * WINDOWS];

/* Stores made that have not landed. */
byte epoch_on_way[2 * WORDS * WINDOWS];

proctype Wire(byte slot) {
end:
  do
  :: d_step {
       epoch_on_way[slot] != 0 ->
       assert(!is_unread[slot]);
       epoch_held[slot] = epoch_on_way[slot];
       is_unread[slot] = true;
       epoch_on_way[slot] = 0
     }
  od
}

inline store(from, word, epoch) {
  d_step {
    assert(epoch_on_way[SLOT(from, word, epoch)] == 0);
    epoch_on_way[SLOT(from, word, epoch)] = epoch
  }
}

#if defined(READ_BEFORE_WAIT)
#define HAS_COME(from, word, epoch) true
#elif defined(ONE_LOOK)
#define HAS_COME(from, word, epoch) (epoch_held[SLOT(from, 0, epoch)] == (epoch))
#else
#define HAS_COME(from, word, epoch) (epoch_held[SLOT(from, word, epoch)] == (epoch))
#endif

inline read(from, word, epoch) {
  d_step {
    HAS_COME(from, word, epoch) ->
    assert(epoch_held[SLOT(from, word, epoch)] == (epoch));
    is_unread[SLOT(from, word, epoch)] = false
  }
}

proctype Thread(byte me) {
  byte epoch = 1;
  do
  :: epoch <= SWEEPS ->
    store(me, 0, epoch);
    store(me, 1, epoch);
#ifdef ONE_WAY
    if
    :: me == 1
    :: else -> goto next
    fi;
#endif
    read(1 - me, 0, epoch);
    read(1 - me, 1, epoch);
#ifdef ONE_WAY
  next:
#endif
    epoch++
  :: else -> break
  od
#ifdef SENDS_AFTER_STOP
  ;
  store(me, 0, SWEEPS + WINDOWS);
  store(me, 1, SWEEPS + WINDOWS)
#endif
}

init {
  byte i = 0;
  atomic {
    do
    :: i < 2 * WORDS * WINDOWS -> run Wire(i); i++
    :: else -> break
    od;
    run Thread(0);
    run Thread(1)
  }
}
