"""Tool-call and reasoning parsers by model family: data. Asked of the target environment before a switch, so a wrong entry costs a check, not a service.

Names as vLLM 0.26 to 0.32 register them. The first family whose pattern is found in model type, architecture or repository counts.
"""

import re
from typing import NamedTuple


class Family(NamedTuple):
    """One family. Empty: it has none."""

    name: str
    pattern: str
    tool_call: str = ""
    reasoning: str = ""


FAMILIES: tuple[Family, ...] = (
    Family("Kimi K2", r"kimi[-_ .]?k2|kimi_k25", "kimi_k2", "kimi_k2"),
    Family("DeepSeek V4", r"deepseek[-_.]?v4", "deepseek_v4", "deepseek_v4"),
    Family("DeepSeek V3.2", r"deepseek[-_.]?v3[._]?2|deepseek_v32", "deepseek_v32", "deepseek_v3"),
    Family("DeepSeek V3.1", r"deepseek[-_.]?v3[._]?1", "deepseek_v31", "deepseek_v3"),
    Family("DeepSeek R1", r"deepseek[-_.]?r1", "deepseek_v3", "deepseek_r1"),
    Family("DeepSeek V3", r"deepseek[-_.]?v3", "deepseek_v3", "deepseek_v3"),
    Family("GLM 4.7 and 5", r"glm[-_.]?4[._]?7|glm[-_.]?5|glm_moe_dsa", "glm47", "glm45"),
    Family("GLM 4.5", r"glm[-_.]?4[._]?[56]|glm4_moe", "glm45", "glm45"),
    Family("Qwen3 Coder", r"qwen3[-_.]?coder", "qwen3_coder"),
    Family("Qwen3 Instruct", r"qwen3.*instruct", "hermes"),
    Family("Qwen3.5 and later", r"qwen3[._][5-9]|qwen4", "qwen3_coder", "qwen3"),
    Family("Qwen3", r"qwen3", "hermes", "qwen3"),
    Family("QwQ", r"qwq", "hermes", "deepseek_r1"),
    Family("Qwen2", r"qwen2", "hermes"),
    Family("gpt-oss", r"gpt[-_]?oss", "openai", "openai_gptoss"),
    Family("Llama 4", r"llama[-_]?4", "llama4_pythonic"),
    Family("Llama 3", r"llama[-_]?3", "llama3_json"),
    Family("MiniMax M2", r"minimax[-_]?m2", "minimax_m2", "minimax_m2"),
    Family("Mistral", r"mistral|magistral|ministral|devstral", "mistral"),
    Family("Nemotron 3", r"nemotron[-_]?3|nemotron_h", "qwen3_coder", "nemotron_v3"),
    Family("Granite 4", r"granite[-_]?4|granitemoehybrid", "granite4"),
    Family("Gemma 4", r"gemma[-_]?4", "gemma4", "gemma4"),
    Family("Hunyuan A13B", r"hunyuan", "hunyuan_a13b", "hunyuan_a13b"),
    Family("Seed OSS", r"seed[-_]?oss", "seed_oss", "seed_oss"),
    Family("Ernie 4.5", r"ernie[-_]?4[._]?5", "ernie45", "ernie45"),
    Family("Step 3", r"step[-_]?3", "step3", "step3"),
    Family("Jamba", r"jamba", "jamba"),
    Family("Phi 4 mini", r"phi[-_]?4[-_]?mini", "phi4_mini_json"),
)


def family_of(*names: str) -> Family | None:
    """The family that one of these names tells: the most telling name first (the repository, then architecture and model type)."""
    for name in names:
        found = next((family for family in FAMILIES if re.search(family.pattern, name.lower())), None)
        if found:
            return found
    return None
