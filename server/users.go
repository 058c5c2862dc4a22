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

// The server's resources for clients are bounded per user, over all connections, and in total: targets, calls
// in progress, and memory. A ledger counts the targets' memory before it is taken. Other memory is measured;
// while it is too high, no targets are opened or inspected.

// user counts the resources of one user, or one address over TCP.
type user struct {
	targets, calls int
	memory         *budget.Ledger // of its targets
}

// users are the users with open resources, guarded by the server's lock.
type users struct {
	all            map[string]*user
	targets, calls int            // of all users
	limit          uint64         // memory of one user, in bytes; 0: no limit
	memory         *budget.Ledger // of all users

	measure  sync.Mutex
	measured time.Time // last collection to measure the memory in use
}

// user returns the entry for a name.
func (s *users) user(name string) *user {
	u := s.all[name]
	if u == nil {
		u = &user{memory: s.memory.NewPart(s.limit)}
		s.all[name] = u
	}
	return u
}

// forget removes a user without open resources.
func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.all[name]; u != nil && u.targets == 0 && u.calls == 0 && u.memory.HeldBytes() == 0 {
		delete(s.all, name)
	}
}

// means returns the resources for a new target of a user. The ledger counts its memory.
func (s *Server) means(name string) (Means, *budget.Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.user(name).memory.Look()
	return Means{Open: s.cfg.Policy.opener(), Memory: l}, l
}

// begin counts a call of a user; end uncounts it.
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

// room returns an error if a user may not make another call. Health checks are always allowed.
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

// measureEvery is the minimal time between collections to measure the memory in use.
const measureEvery = time.Second

// full returns an error if this process uses too much memory to inspect more targets: more than the targets'
// limit and the rest of the server need.
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

// inUse returns the number of bytes in use after the last collection.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
