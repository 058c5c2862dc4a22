package rtltest

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// checkThreads compares each thread's position at every level with the results of omp_get_* in it.
func (s *Subject) checkThreads(t *testing.T) {
	for _, want := range s.Truth.Threads {
		h, ok := s.ByLWP[want.LWP]
		if ok != want.OpenMP {
			t.Errorf("LWP %d is an OpenMP thread: %t, the program says %t", want.LWP, ok, want.OpenMP)
			continue
		}
		if !ok {
			continue
		}
		s.checkThread(t, h, want)
	}
}

func (s *Subject) checkThread(t *testing.T, h handles.Thread, want omptest.ThreadTruth) {
	info, err := s.Thread(h)
	if err != nil {
		t.Errorf("LWP %d: %v", want.LWP, err)
	}
	if want.Role == "idle" {
		_, err := s.CurrentParallel(h)
		_, taskErr := s.CurrentTask(h)
		if info.Role != picture.RoleIdle || info.ThreadNum != -1 ||
			RC(err) != callbacks.Unavailable || RC(taskErr) != callbacks.Unavailable {
			t.Errorf("LWP %d is idle: role %s, number %d, region %v, task %v", want.LWP, info.Role, info.ThreadNum, err,
				taskErr)
		}
		return
	}
	helper := want.Role == "helper"
	if !helper && string(info.Role) != want.Role || info.ThreadNum != want.ThreadNum || info.HiddenHelper != helper {
		t.Errorf("LWP %d: role %s, number %d, helper %t; the program says %s, %d", want.LWP,
			info.Role, info.ThreadNum, info.HiddenHelper, want.Role, want.ThreadNum)
	}
	hs := s.Regions(t, h)
	levels := map[int]handles.ParallelInfo{}
	top := handles.ParallelInfo{}
	for _, p := range hs {
		top, err = s.Parallel(p)
		if err != nil {
			t.Errorf("LWP %d: %v", want.LWP, err)
		}
		levels[top.Level] = top
	}
	if top.Level != want.Level || top.ActiveLevel != want.ActiveLevel || top.TeamSize != want.TeamSize {
		t.Errorf("LWP %d: level %d, active %d, size %d; the program says %d, %d, %d", want.LWP,
			top.Level, top.ActiveLevel, top.TeamSize, want.Level, want.ActiveLevel, want.TeamSize)
	}
	for level, size := range want.Sizes {
		num := info.ThreadNum
		if level < top.Level {
			num = levels[level+1].PrimaryNum
		}
		if levels[level].TeamSize != size || num != want.Ancestors[level] {
			t.Errorf("LWP %d: at level %d number %d of %d; the program says %d of %d", want.LWP,
				level, num, levels[level].TeamSize, want.Ancestors[level], size)
		}
	}
	for level, line := range want.RegionLines {
		s.checkFunction(t, want, levels[level], line)
	}
	s.checkMembership(t, h, hs[len(hs)-1], info)
}

// checkFunction compares a region's function and its place in the source with the line of the construct.
func (s *Subject) checkFunction(t *testing.T, want omptest.ThreadTruth, p handles.ParallelInfo, line int) {
	switch {
	case p.Level == 0 || want.Role == "helper":
	case s.Expect.Sources:
		if got := p.Source.Line; got == 0 && !p.Serialized || got != 0 && line != 0 && got != line {
			t.Errorf("LWP %d: the region of level %d is from %+v; the program says line %d", want.LWP, p.Level,
				p.Source, line)
		}
		if p.Level == want.Level && p.Function.IsNull() {
			t.Errorf("LWP %d: its region has no function", want.LWP)
		}
	case line == 0:
	case p.Function.IsNull() && s.Expect.Nameless: // main ended in a tail call, and no symbol names its target
	case p.Function.IsNull():
		t.Errorf("LWP %d: the region of level %d has no function", want.LWP, p.Level)
	case s.Expect.Lines:
		_, got, err := s.Names.DeclLine(p.Function.Offset)
		if err != nil || got != line {
			t.Errorf("LWP %d: the function of the region of level %d is of line %d (%v); the program says %d", want.LWP,
				p.Level, got, err, line)
		}
	}
}

// checkMembership follows the handles from the region back to the thread and its tasks.
func (s *Subject) checkMembership(t *testing.T, h handles.Thread, p handles.Parallel, info handles.ThreadInfo) {
	back, err := s.ThreadInParallel(p, info.ThreadNum)
	if err != nil || back != h {
		t.Errorf("thread %d of %v is %v (%v), want %v", info.ThreadNum, p, back, err, h)
	}
	implicit, err := s.TaskInParallel(p, info.ThreadNum)
	if err != nil {
		t.Error(err)
	}
	task, err := s.CurrentTask(h)
	for n := 0; err == nil && n < 10; n++ {
		of, e := s.TaskParallel(task)
		if kind, _ := s.Task(task); e == nil && of == p && kind.Kind == picture.TaskImplicit ||
			kind.Kind == picture.TaskInitial {
			break
		}
		task, err = s.GeneratingTask(task)
	}
	if err != nil {
		t.Errorf("the tasks around the current one of %v do not lead to an implicit one: %v", h, err)
	}
	of, err := s.TaskParallel(implicit)
	if err != nil || of != p {
		t.Errorf("the region of %v is %v (%v), want %v", implicit, of, err, p)
	}
}
