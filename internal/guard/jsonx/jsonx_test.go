package jsonx

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// node is a type that contains all kinds of destinations, and itself.
type node struct {
	Name  string            `json:"name"`
	Big   [64]uint64        `json:"big"`
	List  []node            `json:"list"`
	Next  *node             `json:"next"`
	Map   map[string]uint64 `json:"map"`
	Nodes map[string]*node  `json:"nodes"`
	Any   any               `json:"any"`
	Raw   json.RawMessage   `json:"raw"`
	Bytes []byte            `json:"bytes"`
	Words []string          `json:"words"`
	Spans spans             `json:"spans"`
	embedded
	Plain int
}

type embedded struct {
	Inner []pair `json:"inner"`
}

type pair struct{ A, B [16]uint64 }

// spans is a type whose short text takes much memory.
type spans []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *spans) UnmarshalText(text []byte) error {
	*s = make([]byte, spansSize(text))
	return nil
}

// DecodedSize implements Sizer.
func (*spans) DecodedSize(text []byte) uint64 { return spansSize(text) }

func spansSize(text []byte) uint64 { return uint64(len(text)) << 12 }

// TestUnmarshal compares the results with those of encoding/json, for valid and invalid texts.
func TestUnmarshal(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `{"name":"x","plain":3,"list":[{},{"next":{"next":null}}],"map":{"a":1,"b":2}}`,
		` { "LIST" : [ { } , { "n\u0061me" : "\"]}" } ] , "unknown" : [[{"a":{}}]] } `,
		`{"any":[1,{"a":[true,null]},"x"]}`,
		`{"raw":{"a" : [1]},"bytes":"AAAA","words":["a","b\\"],"nodes":{"x":{"name":"y"},"z":null}}`,
		`{"inner":[{"a":[1]}]}`,
		`{"spans":"abc"}`, `{"name":1}`, `{"list":{}}`, `{"map":[1]}`, `{"name":"x"`, `{"a":1}}`, ``, `x`, `"x"`,
		`12`, `{"next":[]}`,
	} {
		var got, want node
		err1, err2 := Unmarshal([]byte(text), &got, nil, "a node"), json.Unmarshal([]byte(text), &want)
		if !reflect.DeepEqual(got, want) || (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %+v, %v, want %+v, %v", text, got, err1, want, err2)
		}
	}
}

// TestBound decodes texts that take much more memory than they have bytes. Each is refused by a ledger with less
// memory than decoding takes, and nothing is decoded then. It is accepted with some times as much.
func TestBound(t *testing.T) {
	const n = 2000
	list := func(open, element, end string) string {
		return open + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + end
	}
	for name, text := range map[string]string{
		"elements":          list(`{"list":[`, `{}`, `]}`),
		"another case":      list(`{"LiSt":[`, `{}`, `]}`),
		"an escaped name":   list(`{"\u006cist":[`, `{}`, `]}`),
		"lists in elements": list(`{"list":[`, `{"list":[{}]}`, `]}`),
		"pointers":          list(`{"list":[`, `{"next":{}}`, `]}`),
		"any":               list(`{"any":[`, `{}`, `]}`),
		"lists of any":      list(`{"any":[`, `[]`, `]}`),
		"embedded":          list(`{"inner":[`, `{}`, `]}`),
		"texts":             list(`{"words":[`, `""`, `]}`),
		"its own decoder":   list(`{"list":[`, `{"spans":"x"}`, `]}`),
	} {
		var before, after runtime.MemStats
		var v node
		runtime.ReadMemStats(&before)
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		taken := after.TotalAlloc - before.TotalAlloc // garbage included
		var refused node
		l := budget.NewLedger(taken / 4) // a third of it is for uncounted memory
		if err := Unmarshal([]byte(text), &refused, l, "a node"); !errors.Is(err, budget.ErrMemory) ||
			!reflect.DeepEqual(refused, node{}) {
			t.Errorf("%s: %d bytes of text take %d bytes: %v", name, len(text), taken, err)
		}
		if err := Unmarshal([]byte(text), new(node), budget.NewLedger(8*taken), "a node"); err != nil {
			t.Errorf("%s: %d bytes of text take %d bytes: %v", name, len(text), taken, err)
		}
	}
}

// TestDepth refuses nested lists before they are decoded.
func TestDepth(t *testing.T) {
	text := []byte(`{"any":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`)
	if err := Unmarshal(text, new(node), nil, "a node"); !errors.Is(err, errDepth) {
		t.Errorf("nested lists: %v", err)
	}
	if err := Values(text, 1<<20); !errors.Is(err, errDepth) {
		t.Errorf("nested lists: %v", err)
	}
}

func TestValues(t *testing.T) {
	text := []byte(`{"a":[1,2,{"b":null}],"c":"x"}`) // 7 values, itself included
	if Values(text, 7) != nil || Values(text, 6) == nil || Values([]byte("[[["), 0) != nil {
		t.Error("the number of values is wrong")
	}
}

// FuzzUnmarshal compares the results with those of encoding/json.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"list":[{"next":{"any":[1,{"a":"\""}]}}],"map":{"a":1},"raw":[ 1 ]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want node
		err := Unmarshal(text, &got, nil, "a node")
		if errors.Is(err, errDepth) {
			return
		}
		if wrong := json.Unmarshal(text, &want); (err == nil) != (wrong == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", err, wrong)
		}
		_ = Values(text, 10)
	})
}
