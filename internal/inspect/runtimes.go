package inspect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// runtimeOf describes a runtime and the sources of its layout.
func runtimeOf(rt *teams.Runtime) picture.Runtime {
	r := identityOf(rt.Identity())
	r.ID, r.Layout = rt.ID, layoutLine(rt.Layout())
	r.Damage = rt.Damage()
	return r
}

func identityOf(id handles.Identity) picture.Runtime {
	r := picture.Runtime{Name: id.Name, Version: id.Version, VersionBy: id.VersionBy, OMPVersion: id.OMPVersion,
		Tracking: id.Tracking}
	if id.Module != nil {
		r.Path, r.BuildID = id.Module.Path, hex.EncodeToString(id.Module.BuildID)
	}
	return r
}

// layoutLine returns, in one line, the number of names from each source.
func layoutLine(rep layout.Report) string {
	if rep.Instead != "" {
		return rep.Instead
	}
	count := map[string]int{}
	var order []string
	agreed, refused := 0, 0
	for _, e := range rep.Entries {
		switch {
		case e.Source != "":
			if count[e.Source] == 0 {
				order = append(order, e.Source)
			}
			count[e.Source]++
			if len(e.Agreed) > 0 {
				agreed++
			}
		case len(e.Claims) > 1:
			refused++
		}
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d from %s", count[s], s))
	}
	line := strings.Join(parts, ", ")
	if line == "" {
		return "none"
	}
	if agreed > 0 {
		line += fmt.Sprintf("; %d agreed by a second source", agreed)
	}
	if refused > 0 {
		line += fmt.Sprintf("; %d refused, sources differ", refused)
	}
	return line
}

// Layout returns the offset or address of each field and variable that the readers of runtimes use.
func (in *Inspector) Layout() []picture.LayoutEntry {
	var out []picture.LayoutEntry
	for _, rt := range in.roster.Runtimes {
		for _, e := range rt.Layout().All() {
			l := picture.LayoutEntry{
				Runtime: rt.ID, Type: e.Type, Name: e.Name, Size: e.Field.Size, Source: e.Source, Agreed: e.Agreed,
			}
			switch {
			case e.Type == "":
				l.Address = picture.Address(e.Global)
			case e.Name != "" && e.Source != "":
				l.Offset, l.Mask = &e.Field.Offset, picture.Address(e.Field.Mask)
			}
			for _, c := range e.Claims {
				l.Claims = append(l.Claims, picture.Claim(c))
			}
			if e.Err != nil {
				l.Error = stacks.Message(e.Err)
			}
			out = append(out, l)
		}
	}
	return out
}

// unreadRuntime is an OpenMP runtime that could not be read.
type unreadRuntime struct {
	mod *callbacks.Module
	why string
	// all is set if any thread may use it: its threads are unknown.
	all bool
}

// unread finds the runtimes that could not be read: their layout is unknown, or they seem to be unused although
// threads are in their code.
func (in *Inspector) unread() []unreadRuntime {
	var out []unreadRuntime
	for _, err := range in.cfg.Warnings {
		var u *rtl.Unread
		if errors.As(err, &u) && u.Module != nil {
			out = append(out, unreadRuntime{u.Module, picture.UnreadText + stacks.Message(err), true})
		}
	}
	for _, d := range in.cfg.Dormant {
		if why := in.inUse(d); why != "" {
			out = append(out, unreadRuntime{d.Identity.Module, picture.UnreadText + why, false})
		}
	}
	return out
}

// inUse returns a text about the threads in the code of a runtime that is not initialized; "" if no thread is
// there.
func (in *Inspector) inUse(d *rtl.Dormant) string {
	n := 0
	for _, nat := range in.roster.All {
		if d.Identity.Module != nil && nat.LWP != 0 && nat.Stack().InModule(d.Identity.Module) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("not initialized, but %s %s in its code: it is just being initialized, or its memory is "+
		"damaged or missing", teams.CountThreads(n), verb)
}

// unreadable returns the reason why the OpenMP data of a thread without a runtime could not be read; "" if no data
// is missing.
func (l *threadLister) unreadable(n *teams.Thread) string {
	if n.Runtime != nil || n.LWP == 0 {
		return ""
	}
	if l.roster.Unidentified {
		return teams.UnidentifiedText
	}
	for _, u := range l.unread() {
		if u.all || n.Stack().InModule(u.mod) {
			return u.why
		}
	}
	return ""
}

// errOverwritten is the error of a thread with contradicting fields in its runtime.
var errOverwritten = errors.New("what it is to OpenMP " + picture.UnreadText +
	"the memory of the runtime was overwritten, and nothing that it keeps of this thread is to be believed")

// overwritten reports whether the runtime's data about a thread is not reliable: the thread could not be read, the
// runtime's fields contradict one another, and the target did not run meanwhile.
func (l *threadLister) overwritten(n *teams.Thread) bool {
	if n.Runtime == nil || n.InfoErr == nil || len(n.Runtime.Damage()) == 0 {
		return false
	}
	p := l.about.Pause
	return p == nil || p.Unsettled == 0 && p.Running == 0
}
