package picture

// Check is one thing that the tool needs of a target, and whether it is there.
type Check struct {
	Name   string      `json:"name" pb:"1"`
	Status CheckStatus `json:"status" pb:"2"`
	Detail string      `json:"detail" pb:"3"`
	Fix    string      `json:"fix,omitempty" pb:"4"` // the next command to type, or what to change
}
