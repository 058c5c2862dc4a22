package inspect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// doctor checks which data a target gives.
type doctor struct {
	target  callbacks.Target
	about   *picture.Target
	dormant []*rtl.Dormant
	roster  *teams.ThreadTable
	code    *stacks.Code
	states  *teams.States
	unread  []unreadRuntime
	devices *deviceLister
}

// Doctor checks which data this target gives. For missing data, it adds the cause and the fix.
func (in *Inspector) Doctor() []picture.Check {
	d := &doctor{in.cfg.Target, &in.cfg.About, in.cfg.Dormant, in.roster, in.code, in.threads.states,
		in.threads.unread(), in.devices}
	return slices.Concat([]picture.Check{d.checkThreads()}, d.checkModules(), d.checkRuntimes(), d.checkDevices(),
		[]picture.Check{d.checkStacks()}, d.checkInterpreters(), []picture.Check{d.checkLines()})
}

func (d *doctor) checkThreads() picture.Check {
	with := 0
	for _, n := range d.roster.All {
		if n.Registers() != nil {
			with++
		}
	}
	detail := fmt.Sprintf("%d of %d with registers", with, len(d.roster.All))
	c := picture.Check{Name: "threads", Status: picture.CheckOK, Detail: detail}
	if with == 0 {
		c.Status = picture.CheckMissing
		c.Fix = "the core has no thread notes; dump the process again: gcore PID"
	}
	return c
}

// checkModules describes the executable and each library without a file.
func (d *doctor) checkModules() []picture.Check {
	lister, ok := d.target.(callbacks.ModuleLister)
	if !ok {
		const detail = "this kind of target does not list its files"
		return []picture.Check{{Name: "files", Status: picture.CheckMissing, Detail: detail}}
	}
	mods, err := lister.Modules()
	if err != nil && len(mods) == 0 {
		return []picture.Check{{Name: "files", Status: picture.CheckPartly, Detail: stacks.Message(err)}}
	}
	var out []picture.Check
	have := 0
	for _, m := range mods {
		if m.Image != nil && m.Err == nil {
			have++
			continue
		}
		c := picture.Check{Name: "file " + filepath.Base(m.Path), Status: picture.CheckPartly}
		c.Detail = "used, but its identity could not be proven"
		if m.Image == nil {
			c.Status, c.Detail = picture.CheckMissing, "not at hand: "+m.Path
		}
		if m.Err != nil {
			c.Detail = stacks.Message(m.Err)
		}
		c.Fix = "--exe PATH"
		if !m.Main {
			c.Fix = "copy the files of the machine that wrote the core below DIR, then --sysroot DIR"
		}
		out = append(out, c)
	}
	detail := fmt.Sprintf("%d of %d found, by build ID where there is one", have, len(mods))
	return append([]picture.Check{{Name: "files", Status: checkStatus(have, len(mods)), Detail: detail}}, out...)
}

// checkDevices describes the libraries by which the program uses devices.
func (d *doctor) checkDevices() []picture.Check {
	files := moduleFiles(d.target)
	libraries, plugins := rtl.OffloadFiles(files)
	if len(libraries) == 0 && len(plugins) == 0 {
		return nil
	}
	for i, path := range plugins {
		plugins[i] = filepath.Base(path)
	}
	c := picture.Check{Name: "devices", Status: picture.CheckOK}
	switch why := rtl.MissingPlugin("", files); {
	case len(libraries) > 1:
		c.Status = picture.CheckPartly
		c.Detail = fmt.Sprintf("%d offloading libraries, %s: each has devices and mapped data of its own",
			len(libraries), strings.Join(libraries, " and "))
		c.Fix = "link all parts of the program with the same one"
	case why != "":
		c.Detail = why + ", so the host executes target regions; " + libraries[0]
	default:
		c.Detail = "through " + strings.Join(slices.Concat(libraries, plugins), ", ")
		d.describeDevices(&c, len(libraries) > 0)
	}
	return []picture.Check{c}
}

// describeDevices adds the number of devices and of mapped ranges to a check. Devices of a plugin of GNU's runtime are
// not read: llvm is set with LLVM's offloading library.
func (d *doctor) describeDevices(c *picture.Check, llvm bool) {
	devices, _, err := d.devices.find()
	switch {
	case err != nil:
		c.Status = picture.CheckPartly
		c.Detail += "; they, and the data that is mapped to them, are not known: " + stacks.Message(err)
		return
	case !llvm:
		c.Detail += "; the data that is mapped to them is not known"
		return
	}
	c.Detail += fmt.Sprintf("; %s, %s of mapped data", phrase.Count(len(devices), "device"),
		phrase.Count(countMapped(devices), "range"))
	for i := range devices {
		if devices[i].Error != "" {
			c.Status = picture.CheckPartly
			c.Detail += "; " + devices[i].Error
			return
		}
	}
}

func checkStatus(have, want int) picture.CheckStatus {
	switch {
	case have >= want && want > 0:
		return picture.CheckOK
	case have > 0:
		return picture.CheckPartly
	}
	return picture.CheckMissing
}

func (d *doctor) checkRuntimes() []picture.Check {
	var out []picture.Check
	for _, u := range d.unread {
		out = append(out, picture.Check{
			Name: "runtime in " + filepath.Base(u.mod.Path), Status: picture.CheckMissing, Detail: u.why,
			Fix: "`ompd-inspect stacks " + d.about.Name() + "` shows what can be read without it",
		})
	}
	for _, unused := range d.dormant {
		if d.isUnread(unused) {
			continue
		}
		out = append(out, picture.Check{
			Name: "runtime " + unused.Identity.Family, Status: picture.CheckPartly, Detail: unused.Error(),
			Fix: "nothing is wrong: what the program did so far is not OpenMP; " +
				"`ompd-inspect stacks " + d.about.Name() + "` shows it",
		})
	}
	if len(d.roster.Runtimes) == 0 && len(out) == 0 {
		return []picture.Check{{
			Name: "OpenMP runtime", Status: picture.CheckMissing,
			Detail: "no module of this program exports the functions of an OpenMP runtime that this version reads",
			Fix:    "if the program uses one, give the files: --exe PATH, --sysroot DIR",
		}}
	}
	for _, rt := range d.roster.Runtimes {
		r := runtimeOf(rt)
		out = append(out, picture.Check{
			Name: "runtime " + rt.ID, Status: picture.CheckOK,
			Detail: strings.TrimSpace(fmt.Sprintf("%s %s, %s", r.Name, r.Version, r.Path)),
		}, d.checkLayout(rt), d.checkNumbers(rt), d.checkStates(rt, r))
	}
	return out
}

// isUnread reports whether a runtime that seems to be unused is among those that could not be read.
func (d *doctor) isUnread(unused *rtl.Dormant) bool {
	return slices.ContainsFunc(d.unread, func(u unreadRuntime) bool { return u.mod == unused.Identity.Module })
}

func (d *doctor) checkLayout(rt *teams.Runtime) picture.Check {
	refused, missing := []string{}, 0
	rep := rt.Layout()
	rep.Entries = rep.All()
	for _, e := range rep.Entries {
		switch {
		case e.Source != "":
		case len(e.Claims) > 1:
			refused = append(refused, strings.Trim(e.Type+"."+e.Name, "."))
		default:
			missing++
		}
	}
	c := picture.Check{Name: "layout of " + rt.ID, Status: picture.CheckOK, Detail: layoutLine(rep)}
	if missing > 0 {
		c.Detail += fmt.Sprintf("; %d of %d not known to this version", missing, len(rep.Entries))
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		c.Status = picture.CheckPartly
		c.Detail += ": " + strings.Join(refused[:min(len(refused), teams.MaxErrors)], ", ")
		c.Fix = "ompd-inspect layout " + d.about.Name()
	}
	return c
}

// checkStates describes the source of the states of a runtime's threads, and counts the states that could not be
// read.
func (d *doctor) checkStates(rt *teams.Runtime, r picture.Runtime) picture.Check {
	c := picture.Check{Name: "states of " + r.ID, Status: picture.CheckOK}
	c.Detail = "inferred from stacks, registers and the runtime's own fields"
	if r.Tracking {
		c.Detail = "tracked by the runtime, cross-checked"
	}
	all, unread, why := 0, 0, ""
	for _, n := range d.roster.All {
		if n.Runtime != rt && (n.Runtime != nil || n.Missing == nil) || n.LWP == 0 { // it may belong to any runtime
			continue
		}
		all++
		ts, err := d.states.StateOf(n)
		if err == nil && ts.State != handles.StateUndefined {
			continue
		}
		if unread++; why == "" {
			why = strings.TrimPrefix(ts.Evidence, picture.UnreadText)
			if err != nil {
				why = stacks.Message(err)
			}
		}
	}
	switch {
	case all == 0:
		c.Status, c.Detail = picture.CheckMissing, "could not be read: none of the process's threads was found in it"
	case unread > 0:
		c.Status = checkStatus(all-unread, all)
		c.Detail += fmt.Sprintf("; of %d of %d threads could not be read: %s", unread, all, why)
	}
	return c
}

// checkStacks counts the stacks that end at the start of a thread.
func (d *doctor) checkStacks() picture.Check {
	whole := 0
	for _, n := range d.roster.All {
		st := n.Stack()
		if len(st.Frames) > 0 && st.Err == nil && n.Missing == nil {
			whole++
		}
	}
	all := len(d.roster.All)
	detail := fmt.Sprintf("%d of %d unwound to their end", whole, all)
	c := picture.Check{Name: "stacks", Status: checkStatus(whole, all), Detail: detail}
	if c.Status != picture.CheckOK {
		c.Fix = "give the files that are missing above, or have the kernel write the core, where a warning says so"
	}
	return c
}

// checkInterpreters describes the interpreters of Python and R: how their structures were found, and the calls on the
// stacks that were placed. The stacks must have been unwound.
func (d *doctor) checkInterpreters() []picture.Check {
	var out []picture.Check
	for _, in := range d.code.Interpreters() {
		c := picture.Check{Name: "Python", Status: picture.CheckOK, Detail: in.Module.Path}
		if in.Runtime == nil {
			c.Status, c.Detail = picture.CheckMissing, in.Module.Path+": "+stacks.Message(in.Err)
			c.Fix = "`ompd-inspect stacks --native " + d.about.Name() + "` shows the interpreter's own frames"
			out = append(out, c)
			continue
		}
		c.Name += " " + in.Runtime.Release()
		c.Detail += fmt.Sprintf(": by the symbol _PyRuntime, offsets from %s; %s, %s of Python code placed",
			in.Runtime.Source(), phrase.Count(len(in.Threads), "thread state"),
			phrase.Count(in.Placed, "call"))
		if in.Unplaced > 0 {
			c.Status = picture.CheckPartly
			c.Detail += fmt.Sprintf("; %d have no native frame", in.Unplaced)
			c.Fix = "they are behind code that was made at run time, or stacks that were not unwound to their end"
		}
		for _, err := range []error{in.Err, in.PauseErr, in.NamesErr} {
			if err != nil {
				c.Status = picture.CheckPartly
				c.Detail += "; " + stacks.Message(err)
			}
		}
		out = append(out, c)
	}
	for _, r := range d.code.RSessions() {
		c := picture.Check{Name: "R", Status: picture.CheckOK}
		c.Detail = fmt.Sprintf("%s: by the symbol R_GlobalContext; %s of R functions placed", r.Module.Path,
			phrase.Count(r.Placed, "call"))
		if r.Unplaced > 0 {
			c.Status = picture.CheckPartly
			c.Detail += fmt.Sprintf("; %d have no native frame", r.Unplaced)
			c.Fix = "they are behind stacks that were not unwound to their end"
		}
		if r.Err != nil {
			c.Status = picture.CheckPartly
			c.Detail += "; " + stacks.Message(r.Err)
		}
		out = append(out, c)
	}
	return out
}

// checkLines counts the user frames with source lines.
func (d *doctor) checkLines() picture.Check {
	user, lines := 0, 0
	for _, n := range d.roster.All {
		st := n.Stack()
		for i, f := range st.Frames {
			if st.Kinds[i] != stacks.KindUser {
				continue
			}
			fs := d.code.Frames(f, stacks.KindUser)
			if fs[0].Line == 0 && f.Module != nil && d.code.Lineless(f.Module) {
				continue
			}
			user++
			if fs[0].Line != 0 {
				lines++
			}
		}
	}
	detail := fmt.Sprintf("%d of %d user frames have one", lines, user)
	c := picture.Check{Name: "source lines", Status: checkStatus(lines, user), Detail: detail}
	if c.Status != picture.CheckOK {
		c.Fix = "build with -g, or give the separate debug files: --debug-dir DIR, or set DEBUGINFOD_URLS"
	}
	return c
}

// maxAsked bounds the threads with checked numbers: evaluating the functions takes half a millisecond for each. A
// few threads reveal a field that is read from a wrong offset.
const maxAsked = 64

// checkNumbers compares the data of threads with the results of the runtime's own omp_get_ functions.
func (d *doctor) checkNumbers(rt *teams.Runtime) picture.Check {
	c := picture.Check{Name: "numbers of " + rt.ID, Status: picture.CheckMissing, Detail: "no thread is in a region"}
	if rt.APIOnly() {
		c.Status = picture.CheckPartly
		c.Detail = "they are what omp_get_* would return: there is nothing else to compare them with"
		return c
	}
	call, err := accessor.New(d.target, rt.Identity().Module)
	if err != nil {
		c.Detail = stacks.Message(err)
		return c
	}
	same, asked := 0, 0
	var differ []string
	var failed error
	for _, n := range d.roster.Sorted() {
		if n.Runtime != rt || len(n.Chain) == 0 || n.Info.HiddenHelper || asked >= maxAsked {
			continue
		}
		tp := accessor.ThreadPointer(d.target, uint64(n.LWP), n.Pthread)
		got, err := call.Check(rt, n.Handle, tp)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		asked++
		same += got.Same
		for _, d := range got.Differ {
			differ = append(differ, fmt.Sprintf("thread %d: %v", n.LWP, d))
		}
		if len(got.Unasked) > 0 {
			failed = cmp.Or(failed, got.Unasked[0])
		}
	}
	switch {
	case len(differ) > 0:
		c.Status = picture.CheckPartly
		c.Detail = fmt.Sprintf("%d of %d are not what omp_get_* would return: %s",
			len(differ), same+len(differ), strings.Join(differ[:min(len(differ), teams.MaxErrors)], "; "))
		c.Fix = "ompd-inspect layout " + d.about.Name()
	case same > 0:
		c.Status = picture.CheckOK
		c.Detail = fmt.Sprintf("%d numbers of %d threads are what omp_get_* would return to them", same, asked)
	case failed != nil:
		c.Detail = "omp_get_* could not be evaluated: " + stacks.Message(failed)
	case asked > 0:
		c.Detail = "the code of omp_get_*, to compare them with, is not at hand"
	}
	return c
}
