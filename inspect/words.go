package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// The words of runtime readers as those of a picture. They are the same; this is the one
// place that says so, and a test holds the two lists against each other.

func roleOf(r rtl.Role) picture.Role { return picture.Role(r) }

func stateName(s rtl.State) picture.StateName { return picture.StateName(s.String()) }

func stateSource(tracked bool) picture.StateSource {
	if tracked {
		return picture.StateTracked
	}
	return picture.StateInferred
}

func taskKind(k rtl.TaskKind) picture.TaskKind { return picture.TaskKind(k) }

func taskState(s rtl.TaskState) picture.TaskState { return picture.TaskState(s) }

// waitKind is the kind of a wait by the runtime's own word.
func waitKind(word string) picture.WaitKind { return picture.WaitKind(word) }
