package mutate

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// maxEdits bounds the changes of one mutant: with many, too little of it remains valid to mislead the tool.
const maxEdits = 6

// maxRepeats bounds how often a mutant repeats an element of an array.
const maxRepeats = 200

// JSON returns a document with up to maxEdits changes: misleading numbers and texts, missing, repeated and exchanged
// elements, and values of another type. r determines the changes.
func JSON(r *rand.Rand, text []byte) ([]byte, error) {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	for range 1 + r.IntN(maxEdits) {
		root = changed(r, root)
	}
	return json.Marshal(root)
}

// changed changes one value in v, which it chooses on the way from the root.
func changed(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && r.IntN(32) != 0 {
			key := keyOf(r, v)
			switch r.IntN(20) {
			case 0:
				delete(v, key)
			case 1:
				v[key] = v[keyOf(r, v)]
			default:
				v[key] = changed(r, v[key])
			}
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(32) != 0 {
			i := r.IntN(len(v))
			switch r.IntN(20) {
			case 0:
				return v[:i]
			case 1:
				return append(v, v[i])
			case 2:
				for n := r.IntN(maxRepeats); n > 0; n-- {
					v = append(v, v[i])
				}
				return v
			default:
				v[i] = changed(r, v[i])
			}
			return v
		}
	case float64:
		if r.IntN(8) != 0 {
			return []float64{0, -1, v + 1, -v, 1 << 31, 1 << 53, math.MaxInt32, float64(r.IntN(300)), 0.5}[r.IntN(9)]
		}
	case string:
		if r.IntN(8) != 0 {
			return []string{
				"", v + v, "\x1b[2J" + v, v + "\n" + v, "0x0", "0xffffffffffffffff", "-1", "<script>" + v, "\u202e" + v,
				strings.Repeat(v, 1+r.IntN(maxRepeats)), v[:r.IntN(len(v)+1)],
			}[r.IntN(11)]
		}
	}
	return []any{nil, true, 7.0, "x", []any{}, map[string]any{}, []any{nil}}[r.IntN(7)]
}

// keyOf returns a key of an object.
func keyOf(r *rand.Rand, object map[string]any) string {
	keys := slices.Sorted(maps.Keys(object)) // r alone determines the key
	return keys[r.IntN(len(keys))]
}
