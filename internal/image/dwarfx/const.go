package dwarfx

// Tags of the relevant entries (DW_TAG_…).
const (
	tagLexicalBlock      = 0x0b
	tagCompileUnit       = 0x11
	tagCommonBlock       = 0x1a
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagSubprogram        = 0x2e
	tagVariable          = 0x34
	tagNamespace         = 0x39
	tagSkeletonUnit      = 0x4a
)

// Attributes that are kept, see keepOf (DW_AT_…). Addresses of old split units
// and old linkage names have numbers of vendors.
const (
	atSibling        = 0x01
	atLocation       = 0x02
	atName           = 0x03
	atStmtList       = 0x10
	atLowPC          = 0x11
	atHighPC         = 0x12
	atLanguage       = 0x13
	atCompDir        = 0x1b
	atAbstractOrigin = 0x31
	atArtificial     = 0x34
	atDeclFile       = 0x3a
	atDeclLine       = 0x3b
	atSpecification  = 0x47
	atRanges         = 0x55
	atCallColumn     = 0x57
	atCallFile       = 0x58
	atCallLine       = 0x59
	atLinkageName    = 0x6e
	atStrOffsetsBase = 0x72
	atAddrBase       = 0x73
	atRnglistsBase   = 0x74
	atMIPSLinkage    = 0x2007
	atGNUAddrBase    = 0x2133
)

// Forms: how the value of an attribute is stored (DW_FORM_…).
const (
	formAddr         = 0x01
	formBlock2       = 0x03
	formBlock4       = 0x04
	formData2        = 0x05
	formData4        = 0x06
	formData8        = 0x07
	formString       = 0x08
	formBlock        = 0x09
	formBlock1       = 0x0a
	formData1        = 0x0b
	formFlag         = 0x0c
	formSdata        = 0x0d
	formStrp         = 0x0e
	formUdata        = 0x0f
	formRefAddr      = 0x10
	formRef1         = 0x11
	formRef2         = 0x12
	formRef4         = 0x13
	formRef8         = 0x14
	formRefUdata     = 0x15
	formIndirect     = 0x16
	formSecOffset    = 0x17
	formExprloc      = 0x18
	formFlagPresent  = 0x19
	formStrx         = 0x1a
	formAddrx        = 0x1b
	formRefSup4      = 0x1c
	formStrpSup      = 0x1d
	formData16       = 0x1e
	formLineStrp     = 0x1f
	formRefSig8      = 0x20
	formImplicit     = 0x21
	formLoclistx     = 0x22
	formRnglistx     = 0x23
	formRefSup8      = 0x24
	formStrx1        = 0x25
	formStrx2        = 0x26
	formStrx3        = 0x27
	formStrx4        = 0x28
	formAddrx1       = 0x29
	formAddrx2       = 0x2a
	formAddrx3       = 0x2b
	formAddrx4       = 0x2c
	formGNUAddrIndex = 0x1f01
	formGNUStrIndex  = 0x1f02
	formGNURefAlt    = 0x1f20
	formGNUStrpAlt   = 0x1f21
)

// Kinds of units (DW_UT_…); before DWARF 5 the kind is that of the section.
const (
	utCompile  = 1
	utType     = 2
	utPartial  = 3
	utSkeleton = 4
	utSplitCU  = 5
	utSplitTU  = 6
)

// Limits for damaged files.
const (
	// maxAttrs bounds the attributes of one abbreviation; compilers use up to
	// about 30.
	maxAttrs = 256
	// maxOrigins bounds the chain from a concrete entry over its abstract
	// origin to its declaration; compilers make chains of up to 3.
	maxOrigins = 16
	// maxInlined bounds the depth of inlining at one address; compilers stop
	// far earlier, at about 100.
	maxInlined = 512
	// maxRanges bounds the entries of range lists that one question reads; the
	// largest units of big C++ libraries have some ten thousand.
	maxRanges = 1 << 20
	// maxString bounds a name or a path; expression templates have names of
	// some ten thousand bytes.
	maxString = 1 << 16
	// maxRows bounds the line table of one unit; the largest generated
	// sources have some hundred thousand rows.
	maxRows = 1 << 22
	// maxVariableWork bounds the attributes without a size that one search for variables skips, in
	// addition to the bytes of the section.
	maxVariableWork = 1 << 26
	// maxFiles bounds the directories and the files of a line table, each;
	// big units have some thousand.
	maxFiles = 1 << 16
)
