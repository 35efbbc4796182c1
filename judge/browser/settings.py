"""Settings of the demo page: where it is served, and what it accepts."""

from core.settings import Count, Text, checked_dataclass

HOST = "127.0.0.1"  # this machine alone


@checked_dataclass
class DemoSettings:
    """Where the page is served and what it accepts."""

    models: Text = "outputs/tiny/models"  # those of `make models`, or RUN/models of any run
    port: Count = 7860  # where to listen, on this machine alone
    characters: Count = 2000  # of a text, at most
    new_tokens: Count = 60  # of a continuation, at most
    people: Count = 2  # requests that are answered at once; further ones wait
    device: Text = "cpu"  # of the models
    # the model that guides steer, by folder or hub name; None for `generator` in the folder of models
    generator: Text | None = None
    dtype: Text = "float32"  # of the generator's weights
