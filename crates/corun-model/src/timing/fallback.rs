//! Classes of instructions, for forms that no table has.
//!
//! A class is chosen by what the instruction is, from its mnemonic and its registers; a table gives the
//! timing of a class in a row `class:NAME`, which is that of the class's commonest form.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};

use super::form::mnemonic;

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $class:ident = $name:literal, [$($form:literal),+];)+) => {
        /// Class that an instruction without a row is taken for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Class {
            $($(#[doc = $doc])+ $class,)+
        }

        impl Class {
            /// All classes.
            pub const ALL: &[Self] = &[$(Self::$class),+];

            /// Name in tables, after `class:`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)+
                }
            }

            /// Forms whose timing the class has, the first that a core knows.
            pub fn examples(self) -> &'static [&'static str] {
                match self {
                    $(Self::$class => &[$($form),+],)+
                }
            }
        }
    };
}

classes! {
    /// Integer arithmetic of one micro-op.
    Integer = "integer", ["add r64 r64"];
    /// Shifts, rotations, and work on single bits.
    Shift = "shift", ["shl r64 i8"];
    /// Integer multiplication.
    Multiply = "multiply", ["imul r64 r64"];
    /// Integer division.
    Divide = "divide", ["div r32"];
    /// Copies from memory.
    Load = "load", ["mov r64 m64"];
    /// Copies to memory.
    Store = "store", ["mov m64 r64"];
    /// Loads, computes and stores at one address.
    Update = "update", ["add m64 r64"];
    /// Atomic read-modify-write, as one access.
    Atomic = "atomic", ["lock add m64 r64"];
    /// Jumps, calls and returns.
    Branch = "branch", ["jne rel"];
    /// Nothing.
    Nothing = "nothing", ["nop"];
    /// One element of a string.
    String = "string", ["movsb"];
    /// Instructions of an operating system, or that serialize.
    System = "system", ["cpuid"];
    /// Vector integer arithmetic and logic.
    VectorInteger = "vector-integer", ["paddd x x"];
    /// Vector integer multiplication.
    VectorMultiply = "vector-multiply", ["pmulld x x", "pmullw x x"];
    /// Elements moved within vectors.
    Shuffle = "shuffle", ["shufps x x i8"];
    /// From general-purpose registers to vectors, or back.
    Transfer = "transfer", ["movd x r32"];
    /// Addition and comparison of floating-point numbers.
    FloatAdd = "float-add", ["addpd x x"];
    /// Multiplication of floating-point numbers, with addition too.
    FloatMultiply = "float-multiply", ["mulpd x x"];
    /// Division and square root of floating-point numbers.
    FloatDivide = "float-divide", ["divpd x x"];
    /// From one format of numbers to another.
    Conversion = "conversion", ["cvtdq2ps x x"];
    /// Work on mask registers.
    Mask = "mask", ["kandw k k k", "paddd x x"];
    /// Loads at the addresses that a vector holds.
    Gather = "gather", ["vgatherdps x vm32x x", "movups x m128"];
    /// Encryption and check sums.
    Cryptography = "cryptography", ["aesenc x x", "pmaddwd x x"];
    /// The 80-bit floating-point stack.
    X87 = "x87", ["fadd st st"];
}

impl Class {
    /// The class of an instruction.
    pub fn of(instruction: &Instruction) -> Self {
        if let Some(class) = Self::of_flow(instruction) {
            return class;
        }
        let name = mnemonic(instruction);
        if uses_st(instruction) {
            return Self::X87;
        }
        if uses(instruction, iced_x86::Register::is_k) && name.starts_with('k') {
            return Self::Mask;
        }
        if uses(instruction, iced_x86::Register::is_vector_register)
            || uses(instruction, iced_x86::Register::is_mm)
        {
            return Self::of_vector(instruction, &name);
        }
        Self::of_integer(instruction, &name)
    }

    fn of_flow(instruction: &Instruction) -> Option<Self> {
        if instruction.is_string_instruction() {
            return Some(Self::String);
        }
        if instruction.is_privileged() {
            return Some(Self::System);
        }
        match instruction.flow_control() {
            FlowControl::Next => None,
            FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => {
                Some(Self::System)
            }
            _ if instruction.mnemonic() == Mnemonic::Syscall => Some(Self::System),
            _ => Some(Self::Branch),
        }
    }

    fn of_integer(instruction: &Instruction, name: &str) -> Self {
        use iced_x86::Mnemonic::{
            Cmpxchg, Cpuid, Div, Emms, Endbr64, Idiv, Imul, Lea, Lfence, Mfence, Mov, Movbe,
            Movnti, Movsx, Movsxd, Movzx, Mul, Mulx, Nop, Pause, Pop, Push, Rdpid, Rdrand, Rdseed,
            Rdtsc, Rdtscp, Serialize, Sfence, Vzeroall, Vzeroupper, Xadd, Xchg, Xgetbv,
        };
        let memory = (0..instruction.op_count())
            .find(|operand| instruction.op_kind(*operand) == OpKind::Memory);
        match instruction.mnemonic() {
            Lea => Self::Integer,
            _ if instruction.has_lock_prefix() => Self::Atomic,
            Xchg if memory.is_some() => Self::Atomic,
            Nop | Endbr64 | Vzeroupper => Self::Nothing,
            Mov | Movzx | Movsx | Movsxd | Movbe | Movnti | Push | Pop if memory == Some(0) => {
                Self::Store
            }
            Mov | Movzx | Movsx | Movsxd | Movbe if memory.is_some() => Self::Load,
            Pop => Self::Load,
            Push => Self::Store,
            Imul | Mul | Mulx => Self::Multiply,
            Div | Idiv => Self::Divide,
            Cpuid | Rdtsc | Rdtscp | Rdpid | Rdrand | Rdseed | Xgetbv | Serialize | Mfence
            | Lfence | Sfence | Pause | Emms | Vzeroall => Self::System,
            Cmpxchg | Xadd => Self::Integer,
            _ if ["prefetch", "cl"].iter().any(|start| name.starts_with(start))
                && memory.is_some() =>
            {
                Self::Load
            }
            _ if ["fx", "xsave", "xrstor", "rdfs", "rdgs", "wrfs", "wrgs", "sgdt", "sidt"]
                .iter()
                .any(|start| name.starts_with(start)) =>
            {
                Self::System
            }
            _ if ["sh", "sa", "ro", "rc", "bt", "bs", "pdep", "pext", "bextr", "bzhi"]
                .iter()
                .any(|start| name.starts_with(start)) =>
            {
                Self::Shift
            }
            _ if name.starts_with("crc32") => Self::Multiply,
            _ => Self::Integer,
        }
    }

    fn of_vector(instruction: &Instruction, name: &str) -> Self {
        let memory = (0..instruction.op_count())
            .find(|operand| instruction.op_kind(*operand) == OpKind::Memory);
        let bare = match name {
            "verr" | "verw" => name,
            _ => name.strip_prefix('v').unwrap_or(name),
        };
        let starts = |starts: &[&str]| starts.iter().any(|start| bare.starts_with(start));
        let has = |parts: &[&str]| parts.iter().any(|part| bare.contains(part));
        let general = uses(instruction, iced_x86::Register::is_gpr);
        match memory {
            _ if starts(&["gather", "pgather", "scatter", "pscatter"]) => Self::Gather,
            _ if starts(&["aes", "sha", "pclmul", "gf2p8"]) => Self::Cryptography,
            Some(0) if starts(&["mov", "lddqu", "extract", "pextr", "maskmov"]) => Self::Store,
            Some(_) if starts(&["mov", "lddqu", "broadcast", "pbroadcast"]) => Self::Load,
            _ if starts(&["cvt", "pmovzx", "pmovsx"]) && !starts(&["pmov"]) => Self::Conversion,
            _ if general || starts(&["movmsk", "pmovmsk"]) => Self::Transfer,
            _ if starts(&["div", "sqrt", "fixup"]) => Self::FloatDivide,
            _ if starts(&["pmul", "pmadd", "mpsad", "psad", "dbpsad", "pdp"]) => {
                Self::VectorMultiply
            }
            _ if starts(&[
                "mul", "fm", "fnm", "dp", "rcp", "rsqrt", "rndscale", "scale", "round",
            ]) =>
            {
                Self::FloatMultiply
            }
            _ if starts(&[
                "add", "sub", "hadd", "hsub", "min", "max", "ucomi", "comi", "get", "range",
            ]) || starts(&["cmp", "reduce", "fpclass"]) =>
            {
                Self::FloatAdd
            }
            _ if has(&[
                "shuf",
                "unpck",
                "perm",
                "pack",
                "broadcast",
                "insert",
                "pinsr",
                "extract",
            ]) || has(&[
                "align", "pmovzx", "pmovsx", "movhl", "movlh", "dup", "compress", "expand",
            ]) || starts(&["psll", "psrl"]) && bare.ends_with("dq") =>
            {
                Self::Shuffle
            }
            _ => Self::VectorInteger,
        }
    }
}

fn uses(instruction: &Instruction, is: fn(iced_x86::Register) -> bool) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && is(instruction.op_register(operand))
    })
}

fn uses_st(instruction: &Instruction) -> bool {
    uses(instruction, iced_x86::Register::is_st)
        || instruction.cpuid_features().iter().any(|feature| {
            use iced_x86::CpuidFeature::{FPU, FPU287, FPU387};
            matches!(feature, FPU | FPU287 | FPU387)
        })
}
