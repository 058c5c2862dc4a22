package layout

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// fake is a source made of maps, by name as in a declaration.
type fake struct {
	name    string
	fields  map[string]Field
	types   map[string]uint64
	globals map[string]uint64
	err     error // instead of ErrUnknown
	asked   []string
}

func (s *fake) Name() string { return s.name }

func (s *fake) unknown() error {
	if s.err != nil {
		return s.err
	}
	return ErrUnknown
}

func (s *fake) Field(typ, field string) (Field, error) {
	s.asked = append(s.asked, typ+"."+field)
	if f, ok := s.fields[typ+"."+field]; ok {
		return f, nil
	}
	return Field{}, s.unknown()
}

func (s *fake) Type(typ string) (Type, error) {
	s.asked = append(s.asked, typ)
	if n, ok := s.types[typ]; ok {
		return Type{Size: n}, nil
	}
	return Type{}, s.unknown()
}

func (s *fake) Global(name string) (uint64, error) {
	s.asked = append(s.asked, name)
	if a, ok := s.globals[name]; ok {
		return a, nil
	}
	return 0, s.unknown()
}

// declaration has each form of a tag once.
type declaration struct {
	Level   Field  `layout:"team.level"`
	Team    Type   `layout:"team"`
	Threads Global `layout:"global threads"`
	Task    struct {
		Size  Type
		Flags Field `layout:"flags"`
		Final Field `layout:"flags.final,optional"`
	} `layout:"task"`
}

func TestResolve(t *testing.T) {
	a := &fake{name: "a", fields: map[string]Field{"team.level": {Offset: 8, Size: 4}},
		types: map[string]uint64{"team": 64}}
	b := &fake{name: "b",
		fields: map[string]Field{"team.level": {Offset: 8, Size: 4}, "task.flags": {Offset: 4, Size: 4},
			"task.flags.final": {Offset: 4, Size: 4, Mask: 2}},
		types:   map[string]uint64{"task": 320},
		globals: map[string]uint64{"threads": 0x1000}}
	var d declaration
	rep, err := Resolve(&d, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Entries) != 6 || len(rep.Missing()) != 0 {
		t.Fatalf("entries %d, missing %v", len(rep.Entries), rep.Missing())
	}
	if d.Level.Offset != 8 || d.Team.Size != 64 || d.Threads.Address != callbacks.Addr(0x1000) ||
		d.Task.Size.Size != 320 {
		t.Errorf("resolved %+v", d)
	}
	if d.Task.Final.String() != "+4:4&0x2" {
		t.Errorf("bit field is %v", d.Task.Final)
	}
	e, ok := rep.Lookup("team", "level")
	if !ok || e.Source != "a" || len(e.Agreed) != 1 || e.Agreed[0] != "b" {
		t.Errorf("entry of team.level: %+v", e)
	}
	if e, ok := rep.Lookup("", "threads"); !ok || e.Source != "b" || e.Global != 0x1000 {
		t.Errorf("entry of threads: %+v", e)
	}
}

func TestConflictIsRefused(t *testing.T) {
	a := &fake{name: "a", fields: map[string]Field{"team.level": {Offset: 8, Size: 4}},
		types: map[string]uint64{"team": 1}}
	b := &fake{name: "b", fields: map[string]Field{"team.level": {Offset: 16, Size: 4}}}
	c := &fake{name: "c", fields: map[string]Field{"team.level": {Offset: 8, Size: 4}}}
	var d declaration
	rep, err := Resolve(&d, a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	if d.Level.IsKnown() {
		t.Fatalf("conflicting field is %v", d.Level)
	}
	r := ReadSize(memory{0x100: make([]byte, 64)}, callbacks.Addr(0x100), 64)
	r.Uint(d.Level)
	for _, want := range []string{"team.level", "a says +8:4", "b says +16:4", "c says +8:4"} {
		if r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
			t.Errorf("use of a refused field: %v, want %q in it", r.Err(), want)
		}
	}
	if !errors.Is(r.Err(), ErrConflict) || !errors.Is(r.Err(), callbacks.Incompatible) {
		t.Errorf("use of a refused field is %v", r.Err())
	}
	if e, _ := rep.Lookup("team", "level"); len(e.Claims) != 3 || e.Source != "" {
		t.Errorf("entry of a refused field: %+v", e)
	}
	if got := len(rep.Missing()); got != 4 {
		t.Errorf("%d entries are missing, want the conflict, the global and two names of task", got)
	}
}

func TestJudgeSettlesConflict(t *testing.T) {
	a := &fake{name: "a", fields: map[string]Field{"team.level": {Offset: 8, Size: 4}}}
	b := &fake{name: "b", fields: map[string]Field{"team.level": {Offset: 16, Size: 4}}}
	c := &fake{name: "c", fields: map[string]Field{"team.level": {Offset: 16, Size: 4}}}
	var d declaration
	r := Resolver{Sources: []Source{a, b, c}, Judge: func(cs []Entry) int {
		if len(cs) != 2 {
			t.Errorf("judge is asked about %d candidates", len(cs))
		}
		return 1
	}}
	rep, err := r.Resolve(&d)
	if err != nil || d.Level.Offset != 16 {
		t.Fatalf("level %v, err %v", d.Level, err)
	}
	e, _ := rep.Lookup("team", "level")
	if e.Source != "b" || len(e.Agreed) != 1 || e.Agreed[0] != "c" || len(e.Claims) != 3 {
		t.Errorf("settled entry: %+v", e)
	}
}

func TestCostlySourcesAreSpared(t *testing.T) {
	cheap := &fake{name: "cheap", fields: map[string]Field{"team.level": {Offset: 8, Size: 4},
		"task.flags": {Offset: 4, Size: 4}},
		types: map[string]uint64{"team": 1, "task": 1}}
	costly := &fake{name: "costly", fields: map[string]Field{"team.level": {Offset: 8, Size: 4}},
		globals: map[string]uint64{"threads": 8}}
	var d declaration
	r := Resolver{Sources: []Source{costly, cheap}, Costly: []Source{costly},
		Check: func(typ, name string) bool { return typ == "team" && name == "level" }}
	rep, err := r.Resolve(&d)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(costly.asked, " "); got != "team.level threads task.flags.final" {
		t.Errorf("the costly source was asked for %q", got)
	}
	if e, _ := rep.Lookup("team", "level"); e.Source != "costly" || len(e.Agreed) != 1 {
		t.Errorf("checked entry: %+v", e)
	}
}

func TestDamageIsReported(t *testing.T) {
	bad := &fake{name: "bad", err: errors.New("garbled")}
	good := &fake{name: "good", types: map[string]uint64{"team": 1}}
	var d declaration
	rep, err := Resolve(&d, bad, good)
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := rep.Lookup("team", ""); e.Source != "good" || len(e.Claims) != 1 || e.Claims[0].Value != "garbled" {
		t.Errorf("entry beside a damaged source: %+v", e)
	}
	if err := d.Level.Err(); err == nil || !strings.Contains(err.Error(), "source bad is damaged: garbled") {
		t.Errorf("error of an unknown field: %v", err)
	}
}

// TestReasonIsKept checks that the reason of an unknown name is the last one that a source gave.
func TestReasonIsKept(t *testing.T) {
	code := &fake{name: "code", types: map[string]uint64{"team": 1}, err: fmt.Errorf("%w: 0 readings of the code of f",
		ErrUnknown)}
	var d declaration
	if _, err := Resolve(&d, code, &fake{name: "table"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Level.Err(); !errors.Is(err, ErrUnknown) ||
		!strings.HasSuffix(err.Error(), ": 0 readings of the code of f") {
		t.Errorf("error of an unknown field: %v", err)
	}
}

func TestResolveRefusesBadDeclarations(t *testing.T) {
	src := &fake{name: "a"}
	for _, dst := range []any{
		nil, 5, struct{}{}, new(int),
		&struct{ F Field }{},
		&struct {
			F Field `layout:"nodot"`
		}{},
		&struct{ T Type }{},
		&struct {
			G Global `layout:"threads"`
		}{},
		&struct{ N int }{},
	} {
		if _, err := Resolve(dst, src); err == nil || !strings.Contains(err.Error(), "layout declaration") {
			t.Errorf("%T: %v", dst, err)
		}
	}
	if _, err := Resolve(&declaration{}, src); !errors.Is(err, errNothing) {
		t.Errorf("sources that know nothing: %v", err)
	}
}
