/* SPDX-License-Identifier: Apache-2.0 */
/* The flow control of src/core/device/port.hpp, and the stop of a run, for Spin; run.py runs it.
 *
 * Every rank and every pair's memory move at any speed, so all skews are looked at. A store lands
 * some time after it was made, and stores land in any order, except where release and acquire say
 * otherwise. All runs end: whatever would wait for ever is a deadlock.
 *
 * A run takes up to SWEEPS sweeps, each of them one epoch, on RANKS (2 or 3) ranks in a line or a
 * ring, with data both ways or one way only. Memory is that of many cores with weak order, but all
 * see a store that has landed at the same time; the data of a slot lands at once.
 *
 * What run.py sets:
 *   RANKS, SWEEPS          size
 * and, one at a time, what must be found wrong:
 *   FLAG_OVERTAKES_DATA    release does not hold back the flag for the data stored before it
 *   READ_AFTER_RAISE       release does not hold back the flag for the reads before it
 *   READ_BEFORE_WAIT       acquire does not hold back the reads after it
 *   STORE_BEFORE_WAIT      acquire does not hold back the stores after it
 *   ONE_WINDOW             one window instead of two
 *   SILENT_WITHOUT_DATA    who has no data for a peer does not signal, and is not waited for
 *   STOP_WHEN_SEEN         a rank stops as soon as it sees the norm, not always before sweep k + 2
 *   STOP_TOO_LATE          the norm of sweep k is looked at before sweep k + 3
 */

#ifdef ONE_WINDOW
#define WINDOWS 1
#else
#define WINDOWS 2
#endif

#ifdef STOP_TOO_LATE
#define SLACK 3
#else
#define SLACK 2
#endif

#define LINK(from, to) ((from) * RANKS + (to))
#define SLOT(link, epoch) ((link) * WINDOWS + (epoch) % WINDOWS)
#define LINKS (RANKS * RANKS)
#define BIT(peer) (1 << (peer))

/* What a topology is: who has whom as a peer, and whose halo has data. */
bool is_linked[LINKS];
bool has_data[LINKS];

/* A receiver's memory. */
byte epoch_held[LINKS * WINDOWS];
bool is_unread[LINKS * WINDOWS];
byte flag[LINKS];

/* Stores made that have not landed: the epoch of each slot's, and the flag's last value. */
byte epoch_on_way[LINKS * WINDOWS];
byte raised[LINKS];

/* The reduction: of how many sweeps each rank has handed in its share of the norm. A norm is known
 * once all have; that of one sweep, or of none, stops the run. Norms of every sweep hold the ranks
 * so close together that they hide faults of the flags; those of some sweeps do not. */
byte norm_every;
byte handed_in_by[RANKS];
byte norms_seen;
byte stopping_sweep; /* SWEEPS while there is none */
#define HAS_NORM(sweep) ((sweep) % norm_every == 0 || (sweep) == SWEEPS - 1)

/* What the rank that ended first has done. */
bool is_one_over;
byte sweeps_done;
byte sweeps_counted;

#if RANKS == 2
#define IS_KNOWN(sweep) (handed_in_by[0] > (sweep) && handed_in_by[1] > (sweep))
#else
#define IS_KNOWN(sweep) \
  (handed_in_by[0] > (sweep) && handed_in_by[1] > (sweep) && handed_in_by[2] > (sweep))
#endif

#ifdef SILENT_WITHOUT_DATA
#define SIGNALS(link) (is_linked[link] && has_data[link])
#else
#define SIGNALS(link) is_linked[link]
#endif

inline land(slot) {
  assert(!is_unread[slot]);
  epoch_held[slot] = epoch_on_way[slot];
  is_unread[slot] = true;
  epoch_on_way[slot] = 0
}

#ifdef FLAG_OVERTAKES_DATA
#define MAY_LAND(link, epoch) true
#else
#define MAY_LAND(link, epoch) (epoch_on_way[SLOT(link, epoch)] != (epoch))
#endif

/* One sender's stores on their way to one receiver. Release is a barrier for what comes before it
 * only, so the data of an epoch may land before the flag of the epoch before. */
proctype Wire(byte link) {
end:
  do
  :: d_step { epoch_on_way[SLOT(link, 0)] != 0 -> land(SLOT(link, 0)) }
#ifndef ONE_WINDOW
  :: d_step { epoch_on_way[SLOT(link, 1)] != 0 -> land(SLOT(link, 1)) }
#endif
  :: d_step { flag[link] < raised[link] && MAY_LAND(link, flag[link] + 1) -> flag[link]++ }
  od
}

inline store_data(epoch_of_data) {
  for (peer : 0 .. RANKS - 1) {
    if
    :: is_linked[LINK(me, peer)] && has_data[LINK(me, peer)] ->
       assert(epoch_on_way[SLOT(LINK(me, peer), epoch_of_data)] == 0);
       epoch_on_way[SLOT(LINK(me, peer), epoch_of_data)] = epoch_of_data
    :: else
    fi
  }
}

inline raise_flags() {
  for (peer : 0 .. RANKS - 1) {
    if
    :: SIGNALS(LINK(me, peer)) -> raised[LINK(me, peer)] = epoch
    :: else
    fi
  }
}

#define REACHED(from) (flag[LINK(from, me)] >= epoch)
#ifdef READ_BEFORE_WAIT
#define MAY_BEGIN(from) (has_data[LINK(from, me)] || REACHED(from))
#else
#define MAY_BEGIN(from) REACHED(from)
#endif

inline check_slot(from, epoch_wanted) {
  assert(!has_data[LINK(from, me)] ||
         epoch_held[SLOT(LINK(from, me), epoch_wanted)] == epoch_wanted)
}

/* Reading takes time: what it finds must be there at its first word and at its last. */
inline begin_reading(from) {
  begun = begun | BIT(from);
  check_slot(from, epoch)
}
inline end_reading(from, epoch_read) {
  check_slot(from, epoch_read);
  is_unread[SLOT(LINK(from, me), epoch_read)] = false
}

/* Options of the wait in a rank's epoch; peers come in any order. */
#define IS_TO_BEGIN(from) ((wanted & BIT(from)) && !(begun & BIT(from)) && MAY_BEGIN(from))
#define IS_TO_END(from) ((begun & BIT(from)) && !(ended & BIT(from)) && REACHED(from))
#ifdef READ_AFTER_RAISE
#define READ(from)                                                              \
  :: d_step { IS_TO_BEGIN(from) -> begin_reading(from) }                        \
  :: d_step { IS_TO_END(from) -> end_reading(from, epoch); ended = ended | BIT(from) } \
  :: d_step { (late & BIT(from)) -> end_reading(from, epoch - 1); late = late & ~BIT(from) }
#define IS_PULLED (begun == wanted && late == 0)
#else
#define READ(from)                                       \
  :: d_step { IS_TO_BEGIN(from) -> begin_reading(from) } \
  :: d_step { IS_TO_END(from) -> end_reading(from, epoch); ended = ended | BIT(from) }
#define IS_PULLED (ended == wanted)
#endif

/* Who looks first at a norm finds out what it is; all others find the same. */
inline look_at(earlier) {
  if
  :: norms_seen <= earlier ->
     norms_seen = earlier + 1;
     if
     :: stopping_sweep = earlier
     :: true
     fi
  :: else
  fi;
  if
  :: stopping_sweep == earlier -> counted = earlier + 1; goto over
  :: else
  fi
}

proctype Rank(byte me) {
  byte sweep, epoch, peer, counted;
  byte wanted, begun, ended; /* peers, as bits */
#ifdef READ_AFTER_RAISE
  byte late;
#endif
#ifdef STORE_BEFORE_WAIT
  byte stored;
#endif

  d_step {
    for (peer : 0 .. RANKS - 1) {
      if
      :: SIGNALS(LINK(peer, me)) -> wanted = wanted | BIT(peer)
      :: else
      fi
    }
    peer = 0
  }

before_sweep:
  atomic {
    if
    :: sweep >= SLACK && HAS_NORM(sweep - SLACK) ->
       IS_KNOWN(sweep - SLACK);
       look_at(sweep - SLACK)
    :: else
    fi;
#ifdef STOP_WHEN_SEEN
    if
    :: sweep >= 1 && HAS_NORM(sweep - 1) && IS_KNOWN(sweep - 1) -> look_at(sweep - 1)
    :: else
    fi;
#endif
    if
    :: sweep == SWEEPS -> counted = sweep; goto over
    :: else
    fi;

    /* The push: what is stored shows when it lands, so one step will do. */
    epoch++;
#ifdef STORE_BEFORE_WAIT
    if
    :: stored < epoch -> d_step { store_data(epoch); stored = epoch; peer = 0 }
    :: else
    fi;
    d_step { raise_flags(); peer = 0 };
    if
    :: epoch < SWEEPS -> d_step { store_data(epoch + 1); stored = epoch + 1; peer = 0 }
    :: true
    fi
#else
    d_step { store_data(epoch); raise_flags(); peer = 0 }
#endif
  };

  do
  READ(0)
  READ(1)
#if RANKS > 2
  READ(2)
#endif
  :: atomic {
       IS_PULLED ->
#ifdef READ_AFTER_RAISE
       late = wanted & ~ended;
#endif
       begun = 0;
       ended = 0;
       /* The sweep; its norm is handed in at once by a host, a sweep later by a GPU. */
       if
       :: handed_in_by[me] = sweep + 1
       :: HAS_NORM(sweep) -> handed_in_by[me] = sweep
       fi;
       sweep++;
       goto before_sweep
     }
  od;

over:
  atomic {
    handed_in_by[me] = sweep;
    assert(sweep - counted <= 1); /* or the result was written over */
    assert(counted == (stopping_sweep < SWEEPS -> stopping_sweep + 1 : SWEEPS));
    assert(!is_one_over || (sweep == sweeps_done && counted == sweeps_counted));
    is_one_over = true;
    sweeps_done = sweep;
    sweeps_counted = counted
  }
}

inline connect(from, to) {
  is_linked[LINK(from, to)] = true;
  is_linked[LINK(to, from)] = true;
  has_data[LINK(from, to)] = true;
  has_data[LINK(to, from)] = has_data_back
}

init {
  bool has_data_back;
  byte link;
  atomic {
    if
    :: has_data_back = true
    :: has_data_back = false /* one-sided halos: a bare signal goes back */
    fi;
    connect(0, 1);
#if RANKS > 2
    connect(1, 2);
    if
    :: connect(2, 0) /* a ring */
    :: true          /* a line */
    fi;
#endif
    if
    :: norm_every = 1
    :: norm_every = SWEEPS
    fi;
    stopping_sweep = SWEEPS;
    for (link : 0 .. LINKS - 1) {
      if
      :: is_linked[link] -> run Wire(link)
      :: else
      fi
    }
    for (link : 0 .. RANKS - 1) { run Rank(link) }
  }
}
