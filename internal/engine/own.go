package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// lent is a stopped program that a debugger provides.
type lent struct{ *remote.Target }

// NewLentSource returns the source of a stopped program that a debugger provides.
func NewLentSource(t *remote.Target) Source { return lent{t} }

// About returns the debugger's description of the program.
func (l lent) About() picture.Target {
	var t picture.Target
	if err := wire.Unpack(l.Target.About(), &t); err != nil {
		return picture.Target{Kind: picture.TargetDebugger} // a test finds differences between the two structs
	}
	t.Kind = cmp.Or(t.Kind, picture.TargetDebugger)
	return t
}

// Warnings returns nil.
func (l lent) Warnings() []error { return nil }

// Living returns false: the program is stopped until the debugger resumes it.
func (l lent) Living() bool { return false }

// Look calls f with the program at its current stop.
func (l lent) Look(ctx context.Context, _, f func(callbacks.Target) error) error {
	return f(l.InContext(ctx))
}

// own is a target of the caller's own.
type own struct {
	lent
	missing []error // its missing abilities
}

// Warnings returns the missing abilities.
func (o own) Warnings() []error { return o.missing }

// errNoRegisters is the warning about a target that has no registers.
var errNoRegisters = errors.New("the target has no registers (callbacks.RegisterReader): there are no stacks, and " +
	"states are those that the runtime keeps")

// answering answers the questions to a debugger with a target.
type answering struct{ callbacks.Target }

// Ask answers questions.
func (a answering) Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	out := make([]*ompdv1.Answer, len(questions))
	for i, q := range questions {
		out[i] = remote.Answer(a.Target, q)
	}
	return out, ctx.Err()
}

// OpenOwn opens a target of the caller's own, whose program is stopped.
func OpenOwn(t callbacks.Target, o Options) (*Target, error) {
	hello := &ompdv1.Hello{About: &ompdv1.Target{Arch: t.Arch().String(), Executable: o.Exe}}
	var missing []error
	if _, ok := t.(callbacks.RegisterReader); ok {
		hello.Powers = append(hello.Powers, ompdv1.Power_POWER_REGISTERS)
	} else {
		missing = append(missing, errNoRegisters)
	}
	if _, ok := t.(callbacks.MappingLister); ok {
		hello.Powers = append(hello.Powers, ompdv1.Power_POWER_MAPPINGS)
	}
	if _, ok := t.(callbacks.Types); ok {
		hello.Powers = append(hello.Powers, ompdv1.Power_POWER_TYPES)
	}
	files := remote.Options{Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Open: o.Open, Memory: o.Ledger()}
	r, err := remote.New(hello, answering{t}, files)
	if err != nil {
		return nil, err
	}
	return NewTarget(own{lent{r}, missing}, o), nil
}
