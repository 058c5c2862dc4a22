package server

import (
	"cmp"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
)

// Limits bound the resources of clients. A zero field means the default.
type Limits struct {
	Patience        Patience // timeouts for clients
	Connections     int      // at a time; more wait (1024)
	UserConnections int      // at a time per user, or per address over TCP (512)
	Strangers       int      // connections at a time without an admitted call; the oldest is closed (128)
	Calls           int      // at a time on one connection; more wait (64)
	Targets         int      // open at a time on one connection (32)
	User            Quota    // per user, or address over TCP, on all connections (512 targets, 1536 calls)
	All             Quota    // of all users (2048 targets, 3072 calls)
	Page            int      // elements per page of a list (1000)
	Message         int      // bytes per message (4 MiB)
	Memory          int      // bytes per ReadMemory (1 MiB)
	// Work is the CPU time of one call; an answer that needs more lists its missing parts (10 s).
	Work time.Duration
	Call time.Duration // duration of one call; WatchTarget and Attach have no limit (2 min)
	// Profile is the duration of the samples of one ProfileTarget; longer requests are shortened (10 min).
	Profile time.Duration
	Idle    time.Duration // after which an unused target is freed (1 h)
	Lease   time.Duration // maximal life of a target after its connection (1 h)
}

// Quota limits the number of resources at a time.
type Quota struct {
	Targets int // open
	Calls   int // in progress
}

func (q Quota) withDefaults(targets, calls int) Quota {
	return Quota{cmp.Or(q.Targets, targets), cmp.Or(q.Calls, calls)}
}

// Patience is the server's timeouts for clients. A zero field means the default.
type Patience struct {
	Admission time.Duration // until a call of a new connection is admitted (10 s)
	Arrival   time.Duration // until the first message of a call (30 s)
	Unread    time.Duration // until the client reads an answer (30 s)
	Reclaim   time.Duration // until memory of finished calls is released (5 s)
	Answer    time.Duration // until a silent client answers a keepalive (20 s)
}

func (p Patience) orDefault() Patience {
	return Patience{
		Admission: cmp.Or(p.Admission, 10*time.Second),
		Arrival:   cmp.Or(p.Arrival, 30*time.Second),
		Unread:    cmp.Or(p.Unread, 30*time.Second),
		Reclaim:   cmp.Or(p.Reclaim, 5*time.Second),
		Answer:    cmp.Or(p.Answer, aliveWithin),
	}
}

func (l Limits) orDefault() Limits {
	return Limits{
		Patience:        l.Patience.orDefault(),
		Connections:     cmp.Or(l.Connections, 1024),
		UserConnections: cmp.Or(l.UserConnections, 512),
		Strangers:       cmp.Or(l.Strangers, 128),
		Calls:           cmp.Or(l.Calls, 64),
		Targets:         cmp.Or(l.Targets, 32),
		User:            l.User.withDefaults(512, 1536),
		All:             l.All.withDefaults(2048, 3072),
		Page:            cmp.Or(l.Page, 1000),
		Message:         cmp.Or(l.Message, 4<<20),
		Memory:          cmp.Or(l.Memory, 1<<20),
		Work:            cmp.Or(l.Work, engine.DefaultBudget),
		Call:            cmp.Or(l.Call, 2*time.Minute),
		Profile:         cmp.Or(l.Profile, profileLimit),
		Idle:            cmp.Or(l.Idle, time.Hour),
		Lease:           cmp.Or(l.Lease, time.Hour),
	}
}

// piece returns the maximal size in bytes of the elements of one message. It leaves room for the message's
// other fields and one oversized element. It is at most the amount that a client may leave unread, so that a
// client that does not read costs no more memory.
func (l Limits) piece() int { return min(l.Message/4, window) }

// fewDefault is the length of a page for requests without a size.
const fewDefault = 100

// pageSize returns the length of a page for a requested size.
func (l Limits) pageSize(size int32) int {
	if size <= 0 {
		return min(fewDefault, l.Page)
	}
	return min(int(size), l.Page)
}
