"""What a model does while it translates one sentence: attention, candidates, preference."""
