package server

import (
	"cmp"
	"time"
)

// Limits bound what clients can use. A zero field means the default.
type Limits struct {
	Connections int           // at a time; more wait (1024)
	Calls       int           // at a time on one connection; more wait (64)
	Targets     int           // open at a time on one connection (32)
	AllTargets  int           // open at a time (2048)
	Page        int           // elements of one page of a list (1000)
	Message     int           // bytes of one message (4 MiB)
	Memory      int           // bytes that one ReadMemory gives (1 MiB)
	Call        time.Duration // that one call may take; WatchTarget and Attach have no limit (2 min)
	Idle        time.Duration // after which a target that nobody asked for is freed (1 h)
	Lease       time.Duration // that a target may outlive its connection (1 h)
}

func (l Limits) orDefault() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 1024),
		Calls:       cmp.Or(l.Calls, 64),
		Targets:     cmp.Or(l.Targets, 32),
		AllTargets:  cmp.Or(l.AllTargets, 2048),
		Page:        cmp.Or(l.Page, 1000),
		Message:     cmp.Or(l.Message, 4<<20),
		Memory:      cmp.Or(l.Memory, 1<<20),
		Call:        cmp.Or(l.Call, 2*time.Minute),
		Idle:        cmp.Or(l.Idle, time.Hour),
		Lease:       cmp.Or(l.Lease, time.Hour),
	}
}

// piece is how many bytes the elements of one message may take: what else is in
// the message, and one element that is larger than most, must fit too.
func (l Limits) piece() int { return l.Message / 4 }

// fewDefault is the length of a page if the client leaves it to the server.
const fewDefault = 100

// pageSize is the length of a page for which size elements were asked.
func (l Limits) pageSize(size int32) int {
	if size <= 0 {
		return min(fewDefault, l.Page)
	}
	return min(int(size), l.Page)
}
