package picture

// LayoutEntry is the offset, size or address of one field, structure or global of a runtime,
// with its sources.
type LayoutEntry struct {
	Runtime string  `json:"runtime" pb:"1"`
	Type    string  `json:"type,omitempty" pb:"2"`                  // missing for a global variable
	Name    string  `json:"name,omitempty" pb:"3"`                  // field or global; missing for the size of a type
	Offset  *uint64 `json:"offset,omitempty" pb:"4" schema:"min=0"` // of a field, bytes
	Size    uint64  `json:"size,omitempty" pb:"5" schema:"min=1"`   // bytes
	// For a bit field: bits in the word of Size bytes at Offset.
	Mask    *Hex     `json:"mask,omitempty" pb:"6"`
	Address *Hex     `json:"address,omitempty" pb:"7"`
	Source  string   `json:"source,omitempty" pb:"8"` // missing if refused or unknown
	Agreed  []string `json:"agreed,omitempty" pb:"9"`
	Claims  []Claim  `json:"claims,omitempty" pb:"10"` // the value of each source, if they differ
	Error   string   `json:"error,omitempty" pb:"11"`
}

// Claim is the value of one source.
type Claim struct {
	Source string `json:"source" pb:"1"`
	Value  string `json:"value" pb:"2"`
}
