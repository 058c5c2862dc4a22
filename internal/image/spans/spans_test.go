package spans

import (
	"math/rand/v2"
	"testing"
)

func TestFind(t *testing.T) {
	var s Set[string]
	if _, ok := s.Find(5); ok {
		t.Error("the empty set has something")
	}
	s.Add(100, 200, "outer")
	s.Add(10, 20, "low")
	s.Add(120, 140, "inner")
	s.Add(120, 140, "inner again")
	s.Add(120, 180, "middle")
	s.Add(50, 50, "empty")
	s.Add(60, 55, "backwards")
	s.Add(190, 210, "overlap")
	s.Seal()
	for a, want := range map[uint64]string{
		0: "", 9: "", 10: "low", 19: "low", 20: "", 50: "", 57: "", 99: "", 100: "outer", 119: "outer", 120: "inner",
		139: "inner", 140: "middle", 179: "middle", 180: "outer", 189: "outer", 190: "overlap", 209: "overlap", 210: "",
		^uint64(0): "",
	} {
		got, ok := s.Find(a)
		if got.Value != want || ok != (want != "") || ok && (a < got.Low || a >= got.High) {
			t.Errorf("Find(%d) = %+v, %v; want %q", a, got, ok, want)
		}
	}
	if n := len(s.All()); n != 6 {
		t.Errorf("%d spans, want 6", n)
	}
}

// TestFindAgainstSearch compares with a plain search of all spans.
func TestFindAgainstSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var s Set[int]
		var list []Span[int]
		for i := range 30 {
			low := random.Uint64N(100)
			high := low + 1 + random.Uint64N(20)
			s.Add(low, high, i)
			list = append(list, Span[int]{low, high, i})
		}
		s.Seal()
		for a := range uint64(125) {
			var want Span[int]
			found := false
			for _, e := range list {
				if a < e.Low || a >= e.High {
					continue
				}
				if !found || e.Low > want.Low || e.Low == want.Low && e.High < want.High {
					want, found = e, true
				}
			}
			if got, ok := s.Find(a); ok != found || got != want {
				t.Fatalf("Find(%d) = %+v, %v; want %+v, %v", a, got, ok, want, found)
			}
		}
	}
}
