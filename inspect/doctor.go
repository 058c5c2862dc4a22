package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Check is one thing that the tool needs of a target, and whether it is there.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, partly, missing
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"` // the next command to type, or what to change
}

// Statuses of checks.
const (
	CheckOK      = "ok"
	CheckPartly  = "partly"
	CheckMissing = "missing"
)

// Doctor says what this target allows, and for what is missing the cause and the
// cure.
func (in *Inspector) Doctor() []Check {
	out := []Check{in.checkThreads()}
	out = append(out, in.checkModules()...)
	out = append(out, in.checkRuntimes()...)
	out = append(out, in.checkStacks(), in.checkLines())
	return out
}

func (in *Inspector) checkThreads() Check {
	with := 0
	for _, n := range in.natives {
		if in.registers(n) != nil {
			with++
		}
	}
	c := Check{Name: "threads", Status: CheckOK, Detail: fmt.Sprintf("%d of %d with registers", with, len(in.natives))}
	if with == 0 {
		c.Status = CheckMissing
		c.Cure = "the core has no thread notes; dump the process again: gcore PID"
	}
	return c
}

// checkModules tells of the executable and of each library without a file.
func (in *Inspector) checkModules() []Check {
	lister, ok := in.cfg.Target.(callbacks.ModuleLister)
	if !ok {
		return []Check{{Name: "files", Status: CheckMissing, Detail: "this kind of target does not list its files"}}
	}
	mods, err := lister.Modules()
	if err != nil {
		return []Check{{Name: "files", Status: CheckPartly, Detail: message(err)}}
	}
	var out []Check
	have := 0
	for _, m := range mods {
		if m.Image != nil && m.Err == nil {
			have++
			continue
		}
		c := Check{Name: "file " + filepath.Base(m.Path), Status: CheckPartly, Detail: "used, but its identity could not be proven"}
		if m.Image == nil {
			c.Status, c.Detail = CheckMissing, "not at hand: "+m.Path
		}
		if m.Err != nil {
			c.Detail = m.Err.Error()
		}
		c.Cure = "--exe PATH"
		if !m.Main {
			c.Cure = "copy the files of the machine that wrote the core below DIR, then --sysroot DIR"
		}
		out = append(out, c)
	}
	detail := fmt.Sprintf("%d of %d found, by build ID where there is one", have, len(mods))
	return append([]Check{{Name: "files", Status: status(have, len(mods)), Detail: detail}}, out...)
}

func status(have, want int) string {
	switch {
	case have >= want && want > 0:
		return CheckOK
	case have > 0:
		return CheckPartly
	}
	return CheckMissing
}

func (in *Inspector) checkRuntimes() []Check {
	var out []Check
	for _, d := range in.cfg.Dormant {
		out = append(out, Check{
			Name: "runtime " + d.Identity.Family, Status: CheckPartly, Detail: d.Error(),
			Cure: "nothing is wrong: what the program did so far is not OpenMP; `ompd-inspect stacks " + in.cfg.About.Name() + "` shows it",
		})
	}
	if len(in.runtimes) == 0 && len(out) == 0 {
		return []Check{{
			Name: "OpenMP runtime", Status: CheckMissing,
			Detail: "no module of this program exports the functions of an OpenMP runtime that this version reads",
			Cure:   "if the program uses one, give the files: --exe PATH, --sysroot DIR",
		}}
	}
	for _, rt := range in.runtimes {
		r := runtimeOf(rt)
		out = append(out, Check{
			Name: "runtime " + rt.id, Status: CheckOK,
			Detail: strings.TrimSpace(fmt.Sprintf("%s %s, %s", r.Name, r.Version, r.Path)),
		}, in.checkLayout(rt), in.checkNumbers(rt), checkStates(r))
	}
	return out
}

func (in *Inspector) checkLayout(rt *runtimeView) Check {
	refused, missing := []string{}, 0
	entries := rt.Layout().Entries
	for _, e := range entries {
		switch {
		case e.Source != "":
		case len(e.Claims) > 1:
			refused = append(refused, strings.Trim(e.Type+"."+e.Name, "."))
		default:
			missing++
		}
	}
	c := Check{Name: "layout of " + rt.id, Status: CheckOK, Detail: layoutLine(rt.Layout())}
	if missing > 0 {
		c.Detail += fmt.Sprintf("; %d of %d not known to this version", missing, len(entries))
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		c.Status = CheckPartly
		c.Detail += ": " + strings.Join(refused[:min(len(refused), maxErrors)], ", ")
		c.Cure = "ompd-inspect layout " + in.cfg.About.Name()
	}
	return c
}

func checkStates(r Runtime) Check {
	c := Check{Name: "states of " + r.ID, Status: CheckOK, Detail: "inferred from stacks, registers and the runtime's own fields"}
	if r.Tracking {
		c.Detail = "tracked by the runtime, cross-checked"
	}
	return c
}

// checkStacks tells how many stacks end where stacks should end.
func (in *Inspector) checkStacks() Check {
	whole := 0
	for _, n := range in.natives {
		st := in.stackOf(n)
		if len(st.frames) > 0 && st.err == nil {
			whole++
		}
	}
	c := Check{Name: "stacks", Status: status(whole, len(in.natives)), Detail: fmt.Sprintf("%d of %d unwound to their end", whole, len(in.natives))}
	if c.Status != CheckOK {
		c.Cure = "give the files that are missing above"
	}
	return c
}

// checkLines tells whether user frames have source lines.
func (in *Inspector) checkLines() Check {
	user, lines := 0, 0
	for _, n := range in.natives {
		st := in.stackOf(n)
		for i, f := range st.frames {
			if st.kinds[i] != kindUser {
				continue
			}
			user++
			if fs := in.frames(f, kindUser); fs[0].Line != 0 {
				lines++
			}
		}
	}
	c := Check{Name: "source lines", Status: status(lines, user), Detail: fmt.Sprintf("%d of %d user frames have one", lines, user)}
	if c.Status != CheckOK {
		c.Cure = "build with -g, or give the separate debug files: --debug-dir DIR, or set DEBUGINFOD_URLS"
	}
	return c
}
