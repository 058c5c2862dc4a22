package server

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// lists are the parts of one stop's picture as messages. Each is made once and then only read.
type lists struct {
	threads  [4][]*ompdv1.Thread // by ThreadView
	regions  []*ompdv1.Region
	stacks   []*ompdv1.MergedStack
	icvs     []*ompdv1.Icv
	controls []*ompdv1.ControlVar
	layout   []*ompdv1.LayoutEntry
	checks   []*ompdv1.Check
	verdicts []*ompdv1.Verdict
	breaks   []*ompdv1.Breakpoint
}

// packed converts the result of ask to messages, unless *to is already set.
func packed[M, T any, P wire.Message[M]](to *[]*M, ask func() []T) ([]*M, error) {
	if *to == nil {
		list, err := wire.PackAll[M, T, P](ask())
		if err != nil {
			return nil, err
		}
		*to = list
	}
	return *to, nil
}

// threads returns the threads with the detail that the view requests.
func (v *view) threads(as ompdv1.ThreadView) ([]*ompdv1.Thread, error) {
	const user, full = ompdv1.ThreadView_THREAD_VIEW_USER_STACK, ompdv1.ThreadView_THREAD_VIEW_FULL
	if as == user || as == full {
		return packed(&v.lists.threads[as], func() []picture.Thread {
			return v.snapshot.Picture(picture.Parts{Threads: true, Native: as == full}).Threads
		})
	}
	const basic = ompdv1.ThreadView_THREAD_VIEW_BASIC
	if v.lists.threads[basic] == nil {
		all, err := v.threads(user)
		if err != nil {
			return nil, err
		}
		for _, th := range all {
			v.lists.threads[basic] = append(v.lists.threads[basic], withoutStacks(th))
		}
	}
	return v.lists.threads[basic], nil
}

// withoutStacks returns a copy of a thread without its stacks. It shares all other parts with th.
func withoutStacks(th *ompdv1.Thread) *ompdv1.Thread {
	out := new(ompdv1.Thread)
	th.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if d.Name() != "stack" && d.Name() != "user_stack" {
			out.ProtoReflect().Set(d, v)
		}
		return true
	})
	return out
}

func (v *view) regions() ([]*ompdv1.Region, error) {
	return packed(&v.lists.regions, v.snapshot.Regions)
}

func (v *view) stacks() ([]*ompdv1.MergedStack, error) {
	return packed(&v.lists.stacks,
		func() []picture.MergedStack { return v.snapshot.Picture(picture.Parts{Stacks: true}).Stacks })
}

func (v *view) icvs() ([]*ompdv1.Icv, error) { return packed(&v.lists.icvs, v.snapshot.ICVs) }

func (v *view) controlVars() ([]*ompdv1.ControlVar, error) {
	return packed(&v.lists.controls, v.snapshot.ControlVars)
}

func (v *view) layout() ([]*ompdv1.LayoutEntry, error) {
	return packed(&v.lists.layout, v.snapshot.Layout)
}

func (v *view) checks() ([]*ompdv1.Check, error) { return packed(&v.lists.checks, v.snapshot.Checks) }

func (v *view) verdicts() ([]*ompdv1.Verdict, error) {
	return packed(&v.lists.verdicts,
		func() []picture.Verdict { return v.snapshot.Ask(engine.Query{Verdicts: true}).Picture.Verdicts })
}

func (v *view) breakpoints() ([]*ompdv1.Breakpoint, error) {
	return packed(&v.lists.breaks, func() []picture.Breakpoint { return v.snapshot.Breakpoints().Locations })
}

// names returns the IDs of address spaces in the picture.
func names(spaces []*ompd.Process) []string {
	out, seen := make([]string, len(spaces)), map[string]int{}
	for i, p := range spaces {
		out[i] = p.Identity().Family
		if seen[out[i]]++; seen[out[i]] > 1 {
			out[i] = fmt.Sprintf("%s-%d", out[i], seen[out[i]])
		}
	}
	return out
}
