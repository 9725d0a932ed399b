def culprit(reports):
    """The rank at fault; `reports[rank]`: what it is doing, for whom it waits."""
    for rank, (doing, peer) in enumerate(reports):
        if doing != "waits":
            return rank
