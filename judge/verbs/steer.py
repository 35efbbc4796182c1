"""`judge steer`."""

from typing import TYPE_CHECKING, Literal

from core.hosts import set_network
from core.settings import Count, Several, Text
from judge.options import CausalLM, Discriminator, File, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def steer(
    generator: File | CausalLM,
    guide: File | Discriminator,
    prompts: Several[Text],
    strength: float = 4.0,
    k: int = 32,
    rule: Literal["normalised", "fudge"] = "normalised",
    new_tokens: int = 20,
    samples: Count = 1,
    seed: int = 0,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    network: bool = False,
) -> "Study":
    """Continues prompts with guidance and without; a text does not depend on the others.

    Args:
        generator: a causal language model by hub name or folder, or a loaded one (on a GPU).
        guide: the folder of a trained guide for this generator (`guide_LABEL` of a run), or a loaded one.
        prompts: texts to continue, one or several.
        strength: alpha of Eq. 5 (the rule `normalised`), or lambda of FUDGE; 0 is the generator alone.
        k: candidates of each step that are scored and kept.
        rule: normalised (the strength is alpha), or fudge (the strength is lambda).
        new_tokens: of a continuation, at most.
        samples: texts of each prompt; the first one is drawn with `seed`, each further one with the next seed.
        seed: of what is drawn.
        device: of the models that are loaded, such as cuda.
        dtype: of the generator; auto: bfloat16 where the device multiplies it fast. The guide stays in float32.
        network: whether the generator may be fetched from the hub.

    Raises SettingError for wrong settings and a guide of other tokens; InputError for a prompt that leaves no room
    for the new tokens and for a missing model.
    """
    set_network(network)
    from judge.steering import Steering, load_models, steer_prompts

    steering = Steering(strength, k=k, rule=rule, new_tokens=new_tokens, seed=seed)
    lm, loaded = load_models(generator, guide, device=device, dtype=dtype)
    return steer_prompts(lm, loaded, prompts, steering, samples)
