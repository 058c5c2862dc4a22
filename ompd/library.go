package ompd

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// apiVersions lists the supported versions of the OMPD interface: OpenMP 5.0, 5.1, 5.2 and 6.0, in the form of
// the macro _OPENMP. Newer versions only add routines.
var apiVersions = []int64{201811, 202011, 202111, omp60}

// Library is the OMPD library as a tool loads it: initialized once, then used for the address spaces of targets,
// then finalised. The zero value is not initialized. A tool that needs no lifetime calls Open.
type Library struct {
	mu      sync.Mutex
	session *session // nil unless initialized
}

// session is the time from Initialize to Finalize.
type session struct {
	over    atomic.Bool
	version int64 // of the interface; guarded by Library.mu
}

func (s *session) isOver() bool { return s != nil && s.over.Load() }

// Initialize is ompd_initialize: it starts the use of the library in one version of the interface, such as
// 202111. An unsupported version is callbacks.Unsupported. A second call without Finalize only changes the version;
// handles stay valid, as in libompd.so.
// The callbacks come with each target (see ProcessInitialize), so that one library serves many.
func (l *Library) Initialize(version int64) error {
	const routine = "ompd_initialize"
	if err := l.Compatible(version); err != nil {
		return fail(routine, nil, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		l.session = new(session)
	}
	l.session.version = version
	return nil
}

// LastScope returns the last value of ompd_scope_t in the version of the interface that the tool uses: OpenMP 6.0 has
// added teams and target.
func (l *Library) LastScope() handles.Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && l.session.version >= omp60 {
		return handles.ScopeTarget
	}
	return handles.ScopeTask
}

// omp60 is the version of OpenMP 6.0.
const omp60 = 202411

// Compatible is ompd_get_version_compatibility of the 2013 draft, section 8.7: it checks that this library
// supports a version of the interface. The error is callbacks.Unsupported and lists the supported versions.
func (l *Library) Compatible(version int64) error {
	if slices.Contains(apiVersions, version) {
		return nil
	}
	return fmt.Errorf("API version %d, not one of %d: %w", version, apiVersions, callbacks.Unsupported)
}

// APIVersion is ompd_get_api_version: it returns the latest supported version of the interface, in the form of
// the macro _OPENMP.
func (l *Library) APIVersion() int64 { return slices.Max(apiVersions) }

// VersionString is ompd_get_version_string: it returns the name, version and revision of this library.
func (l *Library) VersionString() string {
	text := "ompd-inspect"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Version != "" {
			text += " " + m.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}

// modulePath is the path of this package's module.
const modulePath = "github.com/ompd-inspect/ompd-inspect"

// ProcessInitialize is ompd_process_initialize: it returns the address spaces of all OpenMP runtimes in target
// t, which implements the callbacks. It is Open with the library's lifetime: callbacks.BadInput without a
// target, callbacks.Unsupported before Initialize.
func (l *Library) ProcessInitialize(t callbacks.Target, opts Options) ([]*Process, error) {
	const routine = "ompd_process_initialize"
	if t == nil {
		return nil, fail(routine, nil, fmt.Errorf("no target: %w", callbacks.BadInput))
	}
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s == nil {
		return nil, fail(routine, nil, fmt.Errorf("the library is not initialized: %w", callbacks.Unsupported))
	}
	ps, err := Open(t, opts)
	for _, p := range ps {
		p.session = s
	}
	return ps, fail(routine, nil, err)
}

// Finalize is ompd_finalize: it ends the use of the library. After it, all its address spaces return
// callbacks.StaleHandle. Without Initialize, or after another Finalize, it returns callbacks.Unsupported.
func (l *Library) Finalize() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return fail("ompd_finalize", nil, fmt.Errorf("the library is not initialized: %w", callbacks.Unsupported))
	}
	l.session.over.Store(true)
	l.session = nil
	return nil
}
