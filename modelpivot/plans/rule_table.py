"""The compatibility rules. One entry is one thing that engineers learned the hard way; how one is added: CONTRIBUTING.md.

Where a rule is about an engine's bug, the nightly tests it again: with the rule off, on the newest version (`tested`).
"""

from modelpivot.models.rule import Means, Rule, When

RULES: tuple[Rule, ...] = (
    Rule(
        id="fp8-kv-sm120",
        when=When(capabilities=["12.0", "12.1"], kv_bits=8, attention=["MLA"], is_sparse=False),
        means=[Means(kind="patch_kv")],
        why="an FP8 KV cache with MLA fails to start or gives noise on compute capability 12.x; the cache is kept in the model's own type",
        link="https://github.com/vllm-project/vllm/issues/46721",
        tested=["0.26.0"],
    ),
    Rule(
        id="fp8-kv-sm120-heads",
        when=When(capabilities=["12.0", "12.1"], kv_bits=8, attention=["GQA", "MHA", "MQA"]),
        means=[Means(kind="warn", text="an FP8 KV cache on compute capability 12.x works with some versions and gave noise with others: watch the probes")],
        why="depends on engine version and attention kernel",
        link="https://github.com/vllm-project/vllm/issues/35577",
        tested=["0.26.0"],
    ),
    Rule(
        id="sparse-mla-sm120",
        when=When(capabilities=["12.0", "12.1"], attention=["MLA"], is_sparse=True, engine_versions="<0.27"),
        means=[Means(kind="warn", text="sparse MLA on compute capability 12.x: 0.20 has no kernel for it, 0.27 has; what is between was not looked at")],
        why="from 0.27 on there is one, and it keeps the cache in FP8 whatever the checkpoint says: nothing to patch (read in the sources)",
    ),
    Rule(
        id="fp8-kv-mla-long",
        when=When(capability_below="12.0", kv_bits=8, attention=["MLA"], is_sparse=False, engine_versions="<0.20"),
        means=[Means(kind="warn", text="an FP8 KV cache with MLA was reported to garble conversations of several turns before 0.20: probe one")],
        why="reported for GLM-4.7-Flash on an H100 with 0.18",
        link="https://github.com/vllm-project/vllm/issues/38652",
    ),
    Rule(
        id="nvfp4-needs-turing",
        when=When(quantization="nvfp4|fp4", capability_below="7.5"),
        means=[Means(kind="block", text="compute capability 7.5 or later for NVFP4 weights")],
        why="no kernel reads 4-bit float weights on older cards",
    ),
    Rule(
        id="nvfp4-weight-only",
        when=When(quantization="nvfp4", capability_from="7.5", capability_below="10.0"),
        means=[
            Means(kind="warn", text="NVFP4 runs through Marlin below compute capability 10.0: 4 bits in memory, bfloat16 in arithmetic")
        ],
        why="seen on an H200 with 0.26: MarlinNvFp4LinearKernel",
        tested=["0.26.0"],
    ),
    Rule(
        id="fp8-weights-old",
        when=When(quantization=r"(^|\W)fp8", capability_below="8.9"),
        means=[Means(kind="warn", text="FP8 weights run through Marlin below compute capability 8.9: weights stay in 8 bits, arithmetic does not")],
        why="the cards have no FP8 arithmetic",
    ),
    Rule(
        id="nccl-pcie",
        when=When(is_parallel=True, is_pcie_only=True),
        means=[Means(kind="env", name="NCCL_P2P_LEVEL", value="SYS"), Means(kind="env", name="NCCL_PROTO", value="LL")],
        why="no NVLink between the GPUs: NCCL goes over PCIe, and short messages are quicker with the LL protocol",
        link="https://github.com/NVIDIA/nccl/issues/2079",
    ),
    Rule(
        id="nccl-pcie-hang",
        when=When(is_parallel=True, is_pcie_only=True, capabilities=["12.0"]),
        means=[Means(kind="warn", text="a start that stops at its NCCL line with GPUs at 100 % hangs in peer-to-peer: NCCL_P2P_DISABLE=1 gets past it")],
        why="reported for several NCCL versions on RTX PRO 6000",
        link="https://github.com/NVIDIA/nccl/issues/1999",
    ),
    Rule(
        id="vision-data-parallel",
        when=When(is_parallel=True, has_vision=True, lacks_flags=["mm-encoder-tp-mode", "language-model-only"]),
        means=[Means(kind="advise", name="mm-encoder-tp-mode", value="data")],
        why="the encoder is small: whole on every GPU it needs no exchange",
    ),
    Rule(
        id="remote-code",
        when=When(has_remote_code=True, lacks_flags=["trust-remote-code"]),
        means=[Means(kind="advise", name="trust-remote-code", value=True)],
        why="code of the repository runs only where the recipe allows it, at a pinned commit, from real files in the view",
        link="https://github.com/vllm-project/vllm/issues/45647",
    ),
)  # fmt: skip
