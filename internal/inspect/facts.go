package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/crash"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/waits"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// factParts are the sources of facts.
type factParts struct {
	roster      *teams.ThreadTable
	states      *teams.States
	waits       *waits.Finder
	forks       *teams.Forks
	crash       *crash.Finder
	exceptions  *crash.Exceptions
	settings    *teams.Settings
	environment *environment
	processors  *processors
	recorded    *recordings.Reader
	devices     *deviceLister
}

// gather returns the facts of picture pic that are read from the target's memory.
func (p *factParts) gather(pic *picture.Picture) *picture.Facts {
	facts := &picture.Facts{TasksTruncated: len(pic.Tasks) >= MaxTasks, LostThreads: p.states.LostThreads()}
	facts.Recorded, facts.History = p.recorded.Read()
	p.waits.AddFacts(pic, facts)
	p.explainHostTargets(pic)
	facts.Forks = p.forks.Facts()
	p.addSettings(facts)
	facts.Fault = p.crash.Fault()
	if a, ok := p.crash.Abort(); ok {
		facts.Abort = &a
	}
	if facts.Fault != nil || facts.Abort != nil {
		facts.Heap = p.crash.BrokenHeap()
	}
	facts.Overruns = p.crash.Overruns()
	p.exceptions.AddTo(&facts.Abort)
	p.recorded.AddStates(facts.Recorded, pic.Threads)
	return facts
}

// addSettings adds the settings that decide how threads wait.
func (p *factParts) addSettings(facts *picture.Facts) {
	for _, name := range []string{"wait-policy-var", "kmp-blocktime-var"} {
		if v, ok := p.settings.Value(name); ok {
			facts.Settings = append(facts.Settings, picture.Setting{Name: name, Value: v})
		}
	}
	facts.Environment = p.environment.variables()
}

// isOne reports whether a number is known to be 1.
func isOne(n *int) bool { return n != nil && *n == 1 }

// findProcessors finds the running threads, and the processors that threads may use.
func (p *factParts) findProcessors(pic *picture.Picture, forks []picture.Fork) *picture.Processors {
	out := &picture.Processors{}
	ask := map[int]bool{}
	for _, n := range p.roster.All {
		if n.LWP != 0 && !p.roster.Asleep(n.LWP) {
			out.Running = append(out.Running, n.LWP)
			ask[n.LWP] = true
		}
	}
	slices.Sort(out.Running)
	first, alone := map[picture.ID]int{}, map[picture.ID]bool{}
	for _, r := range pic.Regions {
		if len(r.Threads) > 0 {
			first[r.ID], alone[r.ID] = r.Threads[0], r.TeamSize == 1
		}
	}
	for _, f := range forks {
		counted := isOne(f.ClauseValue) || f.ClauseValue == nil && alone[f.Region]
		if lwp := first[f.Region]; lwp != 0 && (isOne(f.NumProcs) || counted) {
			ask[lwp] = true
		}
	}
	out.Masks = p.processors.masks(ask)
	out.Quota, out.Cpuset = p.processors.quota(), p.processors.cpuset()
	if len(out.Running) == 0 && out.Masks == nil && out.Quota == nil && out.Cpuset == nil {
		return nil
	}
	return out
}
