package server

import (
	"cmp"
	"time"

	"github.com/ompd-inspect/ompd-inspect/session"
)

// Limits bound what clients can use. A zero field means the default.
type Limits struct {
	Patience        Patience // with clients
	Connections     int      // at a time; more wait (1024)
	UserConnections int      // at a time of one user, or one address over TCP (512)
	Strangers       int      // connections at a time that no call was let in of; the oldest gives way (128)
	Calls           int      // at a time on one connection; more wait (64)
	Targets         int      // open at a time on one connection (32)
	User            Quota    // of one user, or one address over TCP, on all connections (512 targets, 1536 calls)
	All             Quota    // of all users (2048 targets, 3072 calls)
	Page            int      // elements of one page of a list (1000)
	Message         int      // bytes of one message (4 MiB)
	Memory          int      // bytes that one ReadMemory gives (1 MiB)
	// of a processor that one call may take; a part of the answer is then missing, and said to be (10 s)
	Work  time.Duration
	Call  time.Duration // that one call may take; WatchTarget and Attach have no limit (2 min)
	Idle  time.Duration // after which a target that nobody asked for is freed (1 h)
	Lease time.Duration // that a target may outlive its connection (1 h)
}

// Quota is how much there may be of something at a time.
type Quota struct {
	Targets int // that are open
	Calls   int // that are under way
}

func (q Quota) withDefaults(targets, calls int) Quota {
	return Quota{cmp.Or(q.Targets, targets), cmp.Or(q.Calls, calls)}
}

// Patience is how long a server waits for its clients. A zero field means the default.
type Patience struct {
	Admission time.Duration // within which a call of a new connection must be let in (10 s)
	Arrival   time.Duration // within which the first message of a call must have come (30 s)
	Unread    time.Duration // that an answer may wait for its client to read (30 s)
	Reclaim   time.Duration // after which memory that calls have left is released (5 s)
	Answer    time.Duration // that a silent client may take to answer whether it is there (20 s)
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
		Work:            cmp.Or(l.Work, session.DefaultBudget),
		Call:            cmp.Or(l.Call, 2*time.Minute),
		Idle:            cmp.Or(l.Idle, time.Hour),
		Lease:           cmp.Or(l.Lease, time.Hour),
	}
}

// piece is how many bytes the elements of one message may take: what else is in
// the message, and one element that is larger than most, must fit too. It is no more than
// a client may leave unread, so that a client that does not read makes nobody hold more.
func (l Limits) piece() int { return min(l.Message/4, window) }

// fewDefault is the length of a page if the client leaves it to the server.
const fewDefault = 100

// pageSize is the length of a page for which size elements were asked.
func (l Limits) pageSize(size int32) int {
	if size <= 0 {
		return min(fewDefault, l.Page)
	}
	return min(int(size), l.Page)
}
