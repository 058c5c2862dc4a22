package server

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// What clients make the server hold is bounded for each user, over all connections, and
// for all of them: targets, calls under way, and memory. What targets take is counted in
// one ledger before it is taken; what nobody counts is measured, and no more targets are
// opened and looked at while it is too much.

// user is what one user, or one address over TCP, holds.
type user struct {
	targets, calls int
	memory         *budget.Ledger // of its targets
}

// users are those who hold something. The server's lock is theirs.
type users struct {
	all            map[string]*user
	targets, calls int            // of all
	limit          uint64         // of the memory of one, in bytes; 0 for none
	memory         *budget.Ledger // of all

	measure  sync.Mutex
	measured time.Time // when memory was collected last to find out how much is used
}

// user is the one of a name.
func (s *users) user(name string) *user {
	u := s.all[name]
	if u == nil {
		u = &user{memory: s.memory.NewPart(s.limit)}
		s.all[name] = u
	}
	return u
}

// forget forgets a user who holds nothing any more.
func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.all[name]; u != nil && u.targets == 0 && u.calls == 0 && u.memory.HeldBytes() == 0 {
		delete(s.all, name)
	}
}

// means are what a new target of a user may use. What it takes is in the ledger.
func (s *Server) means(name string) (Means, *budget.Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.user(name).memory.Look()
	return Means{Open: s.cfg.Policy.opener(), Memory: l}, l
}

// begin counts a call of a user, and end ends that.
func (s *Server) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.user(name).calls++
}

func (s *Server) end(name string) {
	s.mu.Lock()
	s.calls--
	s.user(name).calls--
	s.mu.Unlock()
	s.forget(name)
}

// room is an error if a user may not make another call. Those who ask for the server's
// health always may.
func (s *Server) room(name, method string) error {
	if method == healthv1.Health_Check_FullMethodName {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch u := s.all[name]; {
	case u != nil && u.calls >= s.cfg.Limits.User.Calls:
		const text = "%s has %d calls under way on all connections, which is all that one may"
		return failure(codes.ResourceExhausted, "TOO_MANY_CALLS", text, name, u.calls)
	case s.calls >= s.cfg.Limits.All.Calls:
		const text = "the server has %d calls under way, which is all that it may"
		return failure(codes.ResourceExhausted, "TOO_MANY_CALLS", text, s.calls)
	}
	return nil
}

// measureEvery is how often memory is collected, at most, to find out how much is used.
const measureEvery = time.Second

// full is an error if this process uses more memory than it is good to look at more
// targets with: more than its targets may take, and what else there is.
func (s *Server) full() error {
	most := s.limit + s.limit/4
	if s.limit == 0 || inUse() <= most {
		return nil
	}
	s.measure.Lock()
	defer s.measure.Unlock()
	if time.Since(s.measured) > measureEvery {
		runtime.GC()
		s.measured = time.Now()
	}
	if n := inUse(); n > most {
		const text = "the server uses %d MiB of memory, of %d: close targets, or try again later"
		return failure(codes.ResourceExhausted, "SERVER_FULL", text, n>>20, most>>20)
	}
	return nil
}

// inUse is how many bytes of memory were in use when they were collected last.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
