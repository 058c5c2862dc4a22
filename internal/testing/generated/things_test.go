package generated

import (
	"fmt"
	"strings"
)

// thing is an object that one thread holds at a time: its kind in notes, the C code that takes and releases it,
// its critical section or array, and its name there.
type thing struct {
	kind, take, release string
	array               string
	index, count        int // in the array, and the number of those around it that may be taken instead
	at                  string
	number              string // its name in notes
}

// critical is a critical section.
func critical(n int) thing {
	return thing{
		kind: "GEN_CRITICAL", take: fmt.Sprintf("critical(section_%d)", n), number: fmt.Sprint(criticalBase + n),
	}
}

// named returns the same object with another name.
func (t thing) named(at string) thing {
	t.at, t.number = at, "(unsigned long)"+at
	return t
}

func (t thing) taken() string    { return t.take + "(" + t.at + ")" }
func (t thing) released() string { return t.release + "(" + t.at + ")" }

// element returns the object of an array; count is the number of those that take turns.
func element(array string, n, count int) thing {
	how := map[string][3]string{
		"gen_lock":      {"GEN_LOCK", "omp_set_lock", "omp_unset_lock"},
		"gen_nest":      {"GEN_NEST_LOCK", "omp_set_nest_lock", "omp_unset_nest_lock"},
		"gen_mutex":     {"GEN_MUTEX", "pthread_mutex_lock", "pthread_mutex_unlock"},
		"gen_rwlock":    {"GEN_RWLOCK", "pthread_rwlock_wrlock", "pthread_rwlock_unlock"},
		"gen_semaphore": {"GEN_SEMAPHORE", "sem_wait", "sem_post"},
	}[array]
	t := thing{kind: how[0], take: how[1], release: how[2], array: array, index: n, count: count}
	return t.named(fmt.Sprintf("&%s[%d]", array, n))
}

// thingOf returns the object of a number.
func thingOf(n int) thing {
	if n < plainLocks {
		return element("gen_lock", n, plainLocks)
	}
	if n -= plainLocks; n < nestLocks {
		return element("gen_nest", n, nestLocks)
	}
	if n -= nestLocks; n < criticals {
		return critical(n)
	}
	if n -= criticals; n < mutexes {
		return element("gen_mutex", n, mutexes)
	}
	if n -= mutexes; n < rwlocks {
		return element("gen_rwlock", n, rwlocks)
	}
	return element("gen_semaphore", n-rwlocks, semaphores)
}

// criticalBase is added to a critical section's number, in place of an address.
const criticalBase = 1000

// Ways in which programs name or take an object.
const (
	byName = iota
	byIndex
	byPointer  // in a structure that an array of pointers leads to
	byElement  // in an array of structures; in C++ a vector
	byCall     // returned by a function
	byThin     // taken by a function that ends in the call
	byFunction // taken by a call through a pointer
	byPoll     // tried until it is free
	fixedWays  // the ways before this one need no variables

	byChoice = iota - 1 // one of two
	bySwitch
	ways
)

// addressedBy returns an object that is taken in another way; it writes the statements that the way needs.
func (e *emitter) addressedBy(t thing, way int) thing {
	if t.array == "" {
		return t
	}
	member := strings.TrimPrefix(t.array, "gen_")
	next := t.neighbour()
	switch way {
	case byIndex:
		return t.named(fmt.Sprintf("&%s[%d + gen_zero]", t.array, t.index))
	case byPointer:
		return t.named(fmt.Sprintf("gen_book[%d]->%s", t.index, member))
	case byElement:
		if e.cplus {
			return t.named(fmt.Sprintf("gen_vector[%d].%s", t.index, member))
		}
		return t.named(fmt.Sprintf("gen_accounts[%d + gen_zero].%s", t.index, member))
	case byCall:
		return t.named(fmt.Sprintf("%s_at(%d)", t.array, t.index))
	case byThin:
		t.take = "thin_" + t.take
	case byFunction:
		t.take = "via_" + t.take
	case byPoll:
		if t.kind == "GEN_LOCK" {
			t.take = "while (!omp_test_lock(" + t.at + ")) sched_yield"
		}
	case byChoice:
		return t.named(fmt.Sprintf("((tid + r) %% 2 ? &%s[%d] : &%s[%d])", t.array, t.index, t.array, next))
	case bySwitch:
		p := e.name("p")
		e.put("__typeof__(&%s[0]) %s;", t.array, p)
		e.put("switch ((tid + r) %% 3) {")
		e.put("case 0: %s = &%s[%d]; break;", p, t.array, t.index)
		e.put("case 1: %s = gen_book[%d]->%s; break;", p, t.index, member)
		e.put("default: %s = &%s[%d]; break;", p, t.array, next)
		e.put("}")
		return t.named(p)
	}
	return t
}

// neighbour returns the next object in its array, or the same if it is the last.
func (t thing) neighbour() int { return min(t.index+1, t.count-1) }

// polled reports whether the program waits for the object in a loop of its own.
func (t thing) polled() bool { return strings.HasPrefix(t.take, "while") }

// acquire writes the acquisition of an object, and release its release.
func (e *emitter) acquire(t thing) {
	kind := t.kind
	take := t.taken()
	if t.polled() {
		kind, take = "GEN_POLL", t.take+"()"
	}
	e.put("gen_wait(%s, __LINE__, %s); %s; gen_hold(%s, __LINE__, %s);", kind, t.number, take, t.kind, t.number)
}

func (e *emitter) release(t thing) { e.put("%s; gen_drop(%s);", t.released(), t.number) }
