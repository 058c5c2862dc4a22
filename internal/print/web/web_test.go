package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

func golden(t testing.TB, name string) *picture.Picture {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/golden/" + name + "/picture.json")
	if err != nil {
		t.Fatal(err)
	}
	pic := new(picture.Picture)
	if err := json.Unmarshal(b, pic); err != nil {
		t.Fatal(err)
	}
	return pic
}

func ptr[T any](v T) *T { return &v }

// large is a picture of a team of n threads in a dynamic loop. A third of them has not arrived at a barrier,
// and there are tasks of four kinds that depend on each other, all different.
func large(n, tasks int) *picture.Picture {
	pic := &picture.Picture{
		Schema: picture.Schema,
		Target: picture.Target{
			Kind: "process", PID: 4711, Executable: "/opt/solver/bin/solver", Arch: "x86-64", Threads: n,
		},
		Facts: &picture.Facts{Processors: &picture.Processors{}},
	}
	barrier := picture.Barrier{ID: "b", TeamSize: n}
	region := picture.Region{ID: "r", Level: 1, ActiveLevel: 1, TeamSize: n}
	region.Function = &picture.Code{File: "solve.c", Line: 31}
	stacks, parallel := map[int]*picture.MergedStack{}, picture.Outlined{Construct: "parallel", In: "solve"}
	for i := range n {
		lwp, line := 5000+i, 40
		t := picture.Thread{
			LWP: lwp, Runtime: "r", Role: picture.RoleWorker, ThreadNum: ptr(i), TeamSize: ptr(n),
			Level: ptr(1), Region: "r",
			Levels: []picture.LevelInfo{{Level: 0}, {Level: 1, ThreadNum: ptr(i), TeamSize: ptr(n), Region: "r"}},
			State:  &picture.State{Name: picture.StateBarrierExplicit, Source: picture.StateInferred},
		}
		if i%3 == 0 {
			line = 50 + i
			t.State = &picture.State{Name: picture.StateWorkParallel, Source: picture.StateInferred}
			t.Loop = &picture.Loop{
				Schedule: "dynamic", Chunk: ptr(uint64(8)), Iterations: ptr(uint64(100000)), Left: ptr(uint64(36000)),
				From: ptr(int64(i * 8)), To: ptr(int64(i*8 + 7)), Step: ptr(int64(1)),
			}
			barrier.Missing = append(barrier.Missing, lwp)
		} else {
			w := picture.Wait{Thread: lwp, Kind: picture.WaitBarrier, Barrier: "b"}
			pic.Facts.Waits = append(pic.Facts.Waits, w)
		}
		t.UserStack = []picture.Frame{
			{Kind: picture.FrameUser, Function: fmt.Sprintf("kernel_%d", line), File: "solve.c", Line: line},
			{Kind: "user", Function: "solve", File: "solve.c", Line: 31, Outlined: parallel},
			{Kind: picture.FrameUser, Function: "main", File: "solve.c", Line: 90, LWP: 5000},
		}
		if stacks[line] == nil {
			stacks[line] = &picture.MergedStack{Frames: t.UserStack}
		}
		stacks[line].Count++
		stacks[line].Threads = append(stacks[line].Threads, lwp)
		region.Threads = append(region.Threads, lwp)
		pic.Threads = append(pic.Threads, t)
		mask := picture.Mask{Processors: []int{i % 256, (i + 1) % 256}, Threads: []int{lwp}}
		pic.Facts.Processors.Masks = append(pic.Facts.Processors.Masks, mask)
	}
	for line := range n + 50 {
		if s := stacks[line]; s != nil {
			pic.Stacks = append(pic.Stacks, *s)
		}
	}
	pic.Regions, pic.Facts.Barriers = []picture.Region{{ID: "i", TeamSize: 1}, region}, []picture.Barrier{barrier}
	pic.Verdicts = []picture.Verdict{{
		Kind: picture.VerdictBarrierMissing, Certainty: picture.Certain, Severity: picture.SeverityWarning,
		Summary: "some threads have not arrived at the barrier", Threads: region.Threads,
	}}
	pic.Tasks = pipeline(tasks)
	return pic
}

// pipeline is tasks of four kinds, each waiting for the one before it.
func pipeline(n int) (out []picture.Task) {
	for i := range n {
		t := picture.Task{
			ID: picture.ID(fmt.Sprintf("t%d", i)), Kind: picture.TaskExplicit, State: picture.TaskQueued, Region: "r",
			Function: &picture.Code{Name: fmt.Sprintf("stage_%d", i%4), File: "solve.c", Line: 60 + i%4},
		}
		if i >= 4 {
			t.Parent = picture.ID(fmt.Sprintf("t%d", i%4))
			t.WaitsFor = []picture.ID{picture.ID(fmt.Sprintf("t%d", i-1))}
			t.State = picture.TaskBlocked
		}
		out = append(out, t)
	}
	return out
}
