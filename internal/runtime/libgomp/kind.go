package libgomp

import (
	"bytes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// recognize reports whether a module that defines these symbols holds GNU libgomp,
// and as much of its release as they tell.
func recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	t, mod := rtl.SymbolsOnly(defines, path)
	if !isRuntime(t, mod) {
		return rtl.Kind{}, false
	}
	id := identify(t, mod, &fingerprint{})
	return rtl.Kind{Family: id.Family, Name: id.Name, Version: id.Version}, true
}

// recognizeStripped reports whether an executable without symbols, in whose constant
// data these texts are, has GNU libgomp linked in: what its errors begin with and a
// setting that is its own are in object files that every such program has.
func recognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	if !contains(terminated("\nlibgomp: ")) || !contains(terminated("GOMP_SPINCOUNT")) {
		return rtl.Kind{}, false
	}
	return rtl.Kind{Family: family, Name: fullName}, true
}

// maxImage bounds how much of an executable is searched for the runtime's texts.
const maxImage = 256 << 20

// linkedIn reports whether the file of a stripped executable has the runtime's texts.
func linkedIn(img callbacks.Image) bool {
	_, ok := recognizeStripped(func(text string) bool { return holds(img, text) })
	return ok
}

// holds reports whether a file has a text.
func holds(img callbacks.Image, text string) bool {
	if whole, ok := img.(interface{ Bytes() []byte }); ok {
		return bytes.Contains(whole.Bytes(), []byte(text))
	}
	const chunk = 64 << 10
	buf := make([]byte, chunk)
	for off := int64(0); off < min(img.Size(), maxImage); off += int64(chunk - len(text)) {
		n, err := img.ReadAt(buf, off)
		if bytes.Contains(buf[:n], []byte(text)) {
			return true
		}
		if err != nil {
			break
		}
	}
	return false
}

// terminated is text as C has it. It is put together when it is asked for: this program
// would find a constant in itself.
func terminated(text string) string { return string(append([]byte(text), 0)) }
