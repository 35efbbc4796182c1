"""The verbs: score, agree, compare, prefer, audit, plan and steer, each in a file of its own."""
