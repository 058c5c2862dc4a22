package session

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestQueryIsComplete converts a query with all fields set, and back: no field is lost.
func TestQueryIsComplete(t *testing.T) {
	var q Query
	v := reflect.ValueOf(&q).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case !f.CanSet():
			q.trace = true
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		}
	}
	parts := reflect.ValueOf(&q.Parts).Elem()
	for i := range parts.NumField() {
		if f := parts.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
		}
	}
	q.Parts.Request = picture.Request{Expression: "i + 1", First: 2, Count: 3}
	q.Only, q.Budget = picture.Only{LWP: 1, Region: "2", Task: "3"}, time.Second
	if got := queryOf(q.inner()); !reflect.DeepEqual(got, q) {
		t.Errorf("%+v, want %+v", got, q)
	}
	inner := reflect.ValueOf(q.inner())
	for i := range inner.NumField() {
		if inner.Field(i).IsZero() {
			t.Errorf("a query cannot set %s", inner.Type().Field(i).Name)
		}
	}
}

// TestCore queries a core for each kind of result that a core has.
func TestCore(t *testing.T) {
	g, err := omptest.UnpackGolden("../testdata/golden", "gnu-tasks-queued", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), g.Core, Options{Exe: g.Exe, Sysroot: g.Sysroot, Label: "a label"})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	omptest.Equal(t, "the path", target.About().Path, "a label")
	omptest.Equal(t, "living", target.Living(), false)
	if _, err := target.Usage(); !errors.Is(err, ErrNotWatched) {
		t.Errorf("CPU time of a core: %v", err)
	}
	for _, err := range target.Watch(t.Context(), time.Second, 2) {
		if !errors.Is(err, ErrNotWatched) {
			t.Errorf("a series of a core: %v", err)
		}
	}
	if _, err := target.Query(t.Context(), Query{Only: picture.Only{LWP: 1}}); !errors.Is(err, ErrNoThread) {
		t.Errorf("a thread that is not there: %v", err)
	}
	all, err := target.Query(t.Context(), Query{AllTasks: true, Breakpoints: true})
	if err != nil {
		t.Fatal(err)
	}
	tasks := 0
	for range all.Tasks() {
		tasks++
	}
	if tasks == 0 || len(all.Breakpoints.Locations) == 0 || all.Picture.Threads != nil {
		t.Errorf("%d tasks, breakpoints %+v, threads %+v", tasks, all.Breakpoints, all.Picture.Threads)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	snapshot, err := target.Snapshot(t.Context(), Report())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	report, err := snapshot.Query(t.Context(), Report())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Picture.Threads) == 0 || snapshot.Target().Arch() == 0 {
		t.Errorf("%d threads, architecture %v", len(report.Picture.Threads), snapshot.Target().Arch())
	}
	if _, err := Open(t.Context(), "no such file", Options{}); !errors.Is(err, ErrNoTarget) {
		t.Errorf("a missing core: %v", err)
	}
}
